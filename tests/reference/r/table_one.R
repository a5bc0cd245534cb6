# Reference values for Table 1 of a validation study: follow-up by reverse Kaplan-Meier, numbers at
# risk and Kaplan-Meier at times, with intervals on the scale log(-log).
# Run in this directory after metrics.R: Rscript table_one.R  (reads metrics.json, writes table_one.json)
#
# At equal times events come before censorings. survfit on flipped flags would keep them at risk, so
# event times are moved by less than the least gap between times; prodlim(reverse = TRUE) has the
# same rule built in.

suppressPackageStartupMessages({
  library(survival)
  library(prodlim)
  library(jsonlite)
})
source("json17.R")

reference <- function(data) {
  # Whole units make ties.
  time <- ceiling(data$test$time * 10) / 10
  event <- as.integer(data$test$event)
  gap <- min(diff(sort(unique(time)))) / 4
  moved <- ifelse(event == 1, time - gap, time)
  reverse <- survfit(Surv(moved, 1 - event) ~ 1, conf.type = "log-log")
  follow <- quantile(reverse, c(0.25, 0.5, 0.75))
  direct <- prodlim(Hist(time, event) ~ 1, data = data.frame(time, event), reverse = TRUE)
  at <- unname(quantile(time, c(0.2, 0.5, 0.7), type = 1))
  km <- survfit(Surv(time, event) ~ 1, conf.type = "log-log")
  told <- summary(km, times = at)
  upto <- summary(km, times = at)$n.event
  list(
    recipe = "survfit(Surv(t, 1 - event), conf.type = 'log-log'); prodlim(reverse = TRUE)",
    time = time, event = event,
    follow_up = list(
      quartiles = unname(follow$quantile), low = unname(follow$lower[2]),
      high = unname(follow$upper[2]),
      g = predict(direct, times = at, type = "surv"), g_survfit = summary(reverse, times = at)$surv,
      longest = max(time)
    ),
    at = at, at_risk = told$n.risk, events = cumsum(upto), survival = told$surv,
    low = told$lower, high = told$upper
  )
}

features <- list(
  values = c(4, 8, 15, 16, 23, 42, NA, 11, 2),
  quartiles = unname(quantile(c(4, 8, 15, 16, 23, 42, NA, 11, 2), c(0.25, 0.5, 0.75), na.rm = TRUE))
)
data <- fromJSON("metrics.json")$datasets
result <- list(
  versions = package_versions(c("survival", "prodlim", "jsonlite")),
  datasets = lapply(data, reference), features = features
)
write_json17(result, "table_one.json")
