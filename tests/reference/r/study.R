# Reference values for what validation studies report: Royston's D, the index of prediction
# accuracy, Kaplan-Meier, RMST and log-rank test by group of predicted risk.
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
