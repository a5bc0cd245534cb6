# Reference values for internal validation: optimism correction by the bootstrap and repeated
# cross-validation of a Cox model, on samples that are written down.
# Run in this directory: Rscript validate.R  (writes validate.json)

suppressPackageStartupMessages({
  library(survival)
  library(rms)
  library(jsonlite)
})
source("json17.R")

tight <- coxph.control(eps = 1e-13, toler.chol = 1e-14, iter.max = 100)
n <- 150
samples <- 25
at <- 0.5

set.seed(20)
X <- matrix(round(rnorm(n * 4), 3), n)
event_time <- rexp(n, exp(X %*% c(0.7, -0.5, 0.2, 0)))
censoring <- rexp(n, 0.5)
data <- data.frame(time = round(pmin(event_time, censoring), 6),
                   event = as.integer(event_time <= censoring), X)
stopifnot(!anyDuplicated(data$time))
form <- Surv(time, event) ~ X1 + X2 + X3 + X4

# Harrell's C, the coefficient of the linear predictor, and the Brier score at a time with G of
# the subjects that are scored.
scores <- function(fit, rows) {
  test <- data[rows, ]
  lp <- as.vector(as.matrix(test[, 3:6]) %*% coef(fit))
  c_index <- concordance(Surv(test$time, test$event) ~ lp, reverse = TRUE)$concordance
  slope <- coef(coxph(Surv(test$time, test$event) ~ lp, ties = "efron", control = tight))
  base <- basehaz(fit, centered = FALSE)
  hazard <- base$hazard[findInterval(at, base$time)]
  survival <- exp(-hazard * exp(lp))
  g <- survfit(Surv(test$time, 1 - test$event) ~ 1)
  before <- function(t) c(1, g$surv)[findInterval(t, g$time, left.open = TRUE) + 1]
  dead <- test$time <= at & test$event == 1
  alive <- test$time > at
  g_at <- c(1, g$surv)[findInterval(at, g$time) + 1]
  brier <- mean(dead * survival^2 / before(test$time) + alive * (1 - survival)^2 / g_at)
  c(harrell = c_index, calibration_slope_cox = unname(slope), brier = brier)
}
fitted <- function(rows) {
  do.call(coxph, list(form, data = data[rows, ], ties = "breslow", control = tight))
}

set.seed(7)
drawn <- replicate(samples, sample(n, replace = TRUE))
everybody <- seq_len(n)
apparent <- scores(fitted(everybody), everybody)
parts <- lapply(seq_len(samples), function(b) {
  fit <- fitted(drawn[, b])
  list(training = scores(fit, drawn[, b]), test = scores(fit, everybody))
})
training <- t(sapply(parts, `[[`, "training"))
test <- t(sapply(parts, `[[`, "test"))

set.seed(8)
folds <- replicate(3, sample(rep_len(0:4, n)))
crossed <- do.call(rbind, lapply(1:3, function(r) t(sapply(0:4, function(k) {
  scores(fitted(which(folds[, r] != k)), which(folds[, r] == k))
}))))

# The same by rms itself, which draws the same samples from the same seed. Its inner fits stop at
# a change of 1e-4 in the likelihood, and it sets the slope of a model on its own sample to 1.
dd <- datadist(data)
options(datadist = "dd")
fit <- cph(form, data, method = "breslow", x = TRUE, y = TRUE)
set.seed(7)
by_rms <- rms::validate(fit, B = samples)
columns <- c("index.orig", "training", "test", "optimism", "index.corrected")

write_json17(list(
  versions = package_versions(c("survival", "rms", "jsonlite")),
  recipe = "coxph on each sample; concordance, coxph(Surv ~ lp), Brier by hand; rms::validate",
  at = at, X = X, time = data$time, event = data$event,
  drawn = t(drawn) - 1L, folds = t(folds),
  apparent = as.list(apparent),
  training = as.list(as.data.frame(training)), test = as.list(as.data.frame(test)),
  crossed = as.list(as.data.frame(crossed)),
  rms = list(Dxy = as.list(by_rms["Dxy", columns]), Slope = as.list(by_rms["Slope", columns]))
), "validate.json")
