# Reference values of Turnbull's estimate for interval-censored outcomes.
# Run in this directory: Rscript turnbull.R  (writes turnbull.json)
#
# The breast cosmesis data of Finkelstein and Wolfe (1985), two groups, as npsurv has them, and two
# drawn data sets: "visits" (random visits, everybody seen between two of them) and "mixed" (whole
# numbers, exact and right-censored times among the intervals).

suppressPackageStartupMessages({
  library(survival)
  library(npsurv)
})
source("json17.R")

visits <- function(n, whole) {
  time <- rweibull(n, 1.5, 5)
  if (whole) time <- ceiling(time)
  lower <- upper <- numeric(n)
  for (i in seq_len(n)) {
    at <- cumsum(rexp(12, 0.8))
    if (whole) at <- unique(ceiling(at))
    at <- at[at < runif(1, 3, 9)]
    lower[i] <- max(0, at[at < time[i]])
    upper[i] <- min(Inf, at[at >= time[i]])
    if (whole && runif(1) < 0.2 && is.finite(upper[i])) lower[i] <- upper[i] <- time[i]
  }
  data.frame(L = lower, R = upper)
}

reference <- function(data) {
  found <- npsurv(as.matrix(data), tol = 1e-12, maxit = 10000)
  law <- found$f
  upper <- ifelse(is.finite(data$R), data$R, NA)
  fit <- survfit(Surv(data$L, upper, type = "interval2") ~ 1)
  bounds <- sort(unique(c(law$left, law$right[is.finite(law$right)])))
  list(
    recipe = "npsurv(cbind(L, R), tol = 1e-12); survfit(Surv(type = 'interval2'))",
    lower = data$L, upper = ifelse(is.finite(data$R), data$R, -1),
    left = law$left, right = ifelse(is.finite(law$right), law$right, -1), mass = law$p,
    log_likelihood = found$ll, bounds = bounds,
    survfit = summary(fit, times = bounds, extend = TRUE)$surv
  )
}

data(cancer, package = "npsurv")
set.seed(19)
result <- list(
  versions = package_versions(c("survival", "npsurv")),
  datasets = list(
    radiotherapy = reference(cancer[cancer$group == "RT", c("L", "R")]),
    chemotherapy = reference(cancer[cancer$group == "RCT", c("L", "R")]),
    visits = reference(visits(150, FALSE)),
    mixed = reference(visits(150, TRUE))
  )
)
write_json17(result, "turnbull.json")
