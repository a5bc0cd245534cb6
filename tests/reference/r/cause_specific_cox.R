# Reference values of the cause-specific Cox model: coefficients and incidence of two causes for new
# subjects, by riskRegression::CSC with Breslow's ties.
# Run in this directory after incidence.R: Rscript cause_specific_cox.R
# (reads incidence.json, writes cause_specific_cox.json)
#
# predict(product.limit = TRUE) takes the survival before each time from the product of 1 - the
# hazards of both causes.

suppressPackageStartupMessages({
  library(riskRegression)
  library(survival)
  library(jsonlite)
})
source("json17.R")

reference <- function(given, seed) {
  set.seed(seed)
  data <- data.frame(time = given$data$time, status = given$data$status)
  data$x <- round(rnorm(nrow(data)), 2) + 0.8 * (data$status == 1)
  data$z <- round(rnorm(nrow(data)), 2) - 0.5 * (data$status == 2)
  data$b <- rbinom(nrow(data), 1, 0.4)
  new <- data.frame(x = c(-1, 0, 0.5, 2), z = c(0.3, -1.2, 1, 0), b = c(0, 1, 1, 0))
  times <- as.numeric(quantile(data$time, c(0.1, 0.3, 0.5, 0.7, 0.9)))
  fit <- CSC(Hist(time, status) ~ x + z + b, data = data, ties = "breslow")
  causes <- lapply(c(first = 1, second = 2), function(cause) {
    risk <- predict(fit, newdata = new, times = times, cause = cause, product.limit = TRUE)
    list(coefficients = as.numeric(coef(fit$models[[cause]])), incidence = risk$absRisk)
  })
  list(recipe = "predict(CSC(Hist(time, status) ~ x + z + b, ties = 'breslow'), product.limit = TRUE)",
       time = data$time, status = data$status, features = as.matrix(data[, c("x", "z", "b")]),
       new = as.matrix(new), times = times, causes = causes)
}

data <- fromJSON("incidence.json")$datasets
result <- list(
  versions = package_versions(c("riskRegression", "prodlim", "survival")),
  datasets = list(continuous = reference(data$continuous, 3), tied = reference(data$tied, 4))
)
write_json17(result, "cause_specific_cox.json")
