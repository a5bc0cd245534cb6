# Reference values for what validation studies report: Royston's D, the index of prediction
# accuracy, weak calibration, Kaplan-Meier, RMST and log-rank test by group of predicted risk.
# Run in this directory after metrics.R: Rscript study.R  (reads metrics.json, writes study.json)
#
# The data are the test halves of metrics.json; predictions are those of its Cox model A.

suppressPackageStartupMessages({
  library(survival)
  library(riskRegression)
  library(jsonlite)
})
source("json17.R")

tight <- coxph.control(eps = 1e-12, toler.chol = 1e-13, iter.max = 100)

# Weak calibration (van Geloven et al. 2022): pseudo-observations of the risk, a generalised linear
# model with complementary log-log link and constant variance; predictions as offset, or as covariate.
weak_calibration <- function(test, survival, at) {
  # `pseudo` looks its data up again by name, from where the formula was written.
  km <- eval(substitute(survfit(Surv(time, event) ~ 1, data = DATA), list(DATA = test)))
  risk <- as.numeric(1 - pseudo(km, times = at))
  x <- log(-log(survival))
  family <- quasi(link = "cloglog", variance = "constant")
  exact <- glm.control(epsilon = 1e-14, maxit = 200)
  intercept <- glm(risk ~ 1 + offset(x), family = family, start = 0, control = exact)
  slope <- glm(risk ~ x, family = family, start = c(0, 1), control = exact)
  # It stops when the deviance does, while the coefficients still move in the eighth digit.
  for (again in 1:30) {
    intercept <- glm(risk ~ 1 + offset(x), family = family, start = coef(intercept), control = exact)
    slope <- glm(risk ~ x, family = family, start = coef(slope), control = exact)
  }
  list(pseudo = risk, intercept = unname(coef(intercept)[1]), slope = unname(coef(slope)["x"]))
}

reference <- function(data) {
  test <- data.frame(time = data$test$time, event = as.integer(data$test$event),
                     risk = data$models$A$risk)
  times <- data$times
  survival <- data$models$A$survival
  at <- times[4]
  fit <- coxph(Surv(time, event) ~ risk, data = test, ties = "efron", control = tight)
  d <- royston(fit)
  predicted <- 1 - survival[, 4, drop = FALSE]
  score <- Score(list(A = predicted), formula = Surv(time, event) ~ 1, data = test, times = at,
                 metrics = "brier", summary = "ipa", null.model = TRUE, se.fit = FALSE,
                 conf.int = FALSE)$Brier$score
  # Three groups of about equal size; ties stay together as the cut is by value.
  cuts <- quantile(test$risk, c(1, 2) / 3, type = 1)
  test$group <- findInterval(test$risk, cuts, left.open = TRUE)
  km <- survfit(Surv(time, event) ~ group, data = test)
  told <- summary(km, times = at, extend = TRUE)
  rmst <- summary(km, rmean = at)$table
  difference <- survdiff(Surv(time, event) ~ group, data = test)
  overall <- summary(survfit(Surv(time, event) ~ 1, data = test), times = at, extend = TRUE)
  list(
    weak = weak_calibration(test, survival[, 4], at),
    recipe = "royston(coxph(Surv ~ risk)); Score(summary = 'ipa'); survfit(Surv ~ group)",
    at = at,
    royston = list(D = unname(d["D"]), se = unname(d["se(D)"]), r_squared = unname(d["R.D"])),
    ipa = list(
      brier = score[model == "A"]$Brier, null = score[model == "Null model"]$Brier,
      ipa = score[model == "A"]$IPA
    ),
    overall = list(survival = overall$surv, se = overall$std.err),
    groups = list(
      label = as.integer(test$group), survival = told$surv, se = told$std.err,
      at_risk = told$n.risk, rmst = unname(rmst[, "rmean"]), rmst_se = unname(rmst[, "se(rmean)"]),
      logrank = difference$chisq
    )
  )
}

data <- fromJSON("metrics.json")$datasets
result <- list(
  versions = package_versions(c("survival", "riskRegression", "jsonlite", "prodlim")),
  datasets = lapply(data, reference)
)
write_json17(result, "study.json")
