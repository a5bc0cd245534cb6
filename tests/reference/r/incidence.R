# Reference values under competing risks: cumulative incidence with both variances, restricted
# mean time lost, Gray's tests, weights of the subdistribution.
# Run in this directory: Rscript incidence.R  (writes incidence.json)
#
# Three data sets: "continuous" has no ties, "tied" has whole-number times at which events of both
# causes and censorings meet, "uncensored" has one group in which everybody had an event.

suppressPackageStartupMessages({
  library(survival)
  library(cmprsk)
})
source("json17.R")

draw <- function(n, kind) {
  x <- sample(c("a", "b", "c"), n, TRUE, prob = c(0.5, 0.3, 0.2))
  first <- rexp(n, ifelse(x == "a", 0.10, 0.06))
  second <- rweibull(n, 1.3, ifelse(x == "c", 9, 14))
  censored <- runif(n, 0, 25)
  if (kind == "uncensored") censored[x == "b"] <- 1e6
  time <- pmin(first, second, censored)
  if (kind == "tied") {
    first <- ceiling(first); second <- ceiling(second); censored <- ceiling(censored)
    time <- pmin(first, second, censored)
  }
  status <- ifelse(first <= pmin(second, censored), 1L, ifelse(second <= censored, 2L, 0L))
  data.frame(time, status, group = x)
}

# Area under the incidence of a cause up to tau, and its standard error by the influence of
# each subject that survfit reports.
time_lost <- function(fit, tau, state) {
  ends <- pmin(c(fit$time, Inf), tau)
  width <- diff(ends)
  influence <- fit$influence.pstate[, , state]
  if (ncol(influence) == length(fit$time) + 1) influence <- influence[, -1]
  c(sum(fit$pstate[, state] * width), sqrt(sum((influence %*% width)^2)))
}

reference <- function(data, tau) {
  fit <- survfit(Surv(time, factor(status, 0:2)) ~ 1, data = data, influence = TRUE,
                 id = seq_len(nrow(data)))
  aalen <- timepoints(cuminc(data$time, data$status), fit$time)
  groups <- cuminc(data$time, data$status, data$group)
  early <- cuminc(data$time, data$status, data$group, rho = 1)
  byg <- survfit(Surv(time, factor(status, 0:2)) ~ group, data = data)
  told <- summary(byg, times = tau, extend = TRUE)
  fine <- finegray(Surv(time, factor(status, 0:2)) ~ ., cbind(data, id = seq_len(nrow(data))),
                   etype = "1")
  at <- sort(unique(data$time[data$status == 1]))
  # In the weighted data a subject is at risk at t in its interval (start, stop].
  risk <- sapply(at, function(t) {
    now <- fine[fine$fgstart < t & t <= fine$fgstop, ]
    weight <- numeric(nrow(data))
    weight[now$id] <- now$fgwt
    weight
  })
  list(
    recipe = "survfit(Surv(time, factor(status)) ~ 1); cuminc; finegray(etype = 1)",
    data = list(time = data$time, status = data$status, group = data$group),
    times = fit$time, incidence = t(fit$pstate[, -1]), stderr = t(fit$std.err[, -1]),
    aalen_variance = aalen$var, tau = tau,
    rmtl = list(first = time_lost(fit, tau, 2), second = time_lost(fit, tau, 3)),
    gray = groups$Tests[, c("stat", "pv", "df")],
    gray_rho_1 = early$Tests[, c("stat", "pv", "df")],
    groups = list(incidence = told$pstate[, -1], at_risk = rowSums(told$n.risk)),
    finegray = list(times = at, weights = risk)
  )
}

set.seed(18)
result <- list(
  versions = package_versions(c("survival", "cmprsk")),
  datasets = list(
    continuous = reference(draw(150, "continuous"), 8),
    tied = reference(draw(200, "tied"), 9),
    uncensored = reference(draw(80, "uncensored"), 7)
  )
)
write_json17(result, "incidence.json")
