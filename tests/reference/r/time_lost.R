# Reference values of the time lost to a cause under competing risks: its restricted mean, and
# pseudo-observations of the mean time free of the cause by refitting.
# Run in this directory: Rscript time_lost.R  (writes time_lost.json)
#
# Two data sets: "continuous" has no ties, "tied" has whole-number times at which events of both
# causes and censorings meet.

suppressPackageStartupMessages(library(survival))
source("json17.R")

draw <- function(n, tied) {
  first <- rexp(n, 0.09)
  second <- rweibull(n, 1.4, 13)
  censored <- runif(n, 0, 22)
  if (tied) {
    first <- ceiling(first); second <- ceiling(second); censored <- ceiling(censored)
  }
  time <- pmin(first, second, censored)
  status <- ifelse(first <= pmin(second, censored), 1L, ifelse(second <= censored, 2L, 0L))
  data.frame(time, status)
}

# Mean time free of each cause up to tau: tau less the restricted mean time in its state.
time_free <- function(data, tau) {
  fit <- survfit(Surv(time, factor(status, 0:2)) ~ 1, data = data)
  lost <- summary(fit, rmean = tau)$table[, "rmean"]
  unname(tau - lost[c("1", "2")])
}

reference <- function(n, tied, tau) {
  train <- draw(n, tied)
  test <- draw(40, tied)
  whole <- time_free(train, tau)
  left_out <- t(sapply(seq_len(n), function(i) {
    n * whole - (n - 1) * time_free(train[-i, ], tau)
  }))
  joined <- t(sapply(seq_len(nrow(test)), function(i) {
    (n + 1) * time_free(rbind(train, test[i, ]), tau) - n * whole
  }))
  list(
    recipe = "tau - summary(survfit(Surv(time, factor(status)) ~ 1), rmean = tau), refitted",
    train = list(time = train$time, status = train$status),
    test = list(time = test$time, status = test$status),
    tau = tau, mean = whole, left_out = left_out, joined = joined
  )
}

set.seed(4)
result <- list(
  versions = package_versions("survival"),
  datasets = list(continuous = reference(120, FALSE, 9), tied = reference(150, TRUE, 10))
)
write_json17(result, "time_lost.json")
