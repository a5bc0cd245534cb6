# Reference values for averages over places and over imputations: metafor and mice.
# Run in this directory: Rscript pooling.R  (writes pooling.json)

suppressPackageStartupMessages({
  library(metafor)
  library(mice)
})
source("json17.R")

# C-indices of ten places with their standard errors (made up), on the logit scale; O/E ratios of
# six on the log scale; slopes of four that agree (tau^2 = 0).
sets <- list(
  c_index = list(
    scale = "logit",
    estimates = c(0.71, 0.66, 0.75, 0.69, 0.72, 0.80, 0.64, 0.70, 0.77, 0.68),
    stderr = c(0.02, 0.03, 0.02, 0.02, 0.05, 0.03, 0.04, 0.015, 0.025, 0.06)
  ),
  ratio = list(
    scale = "log",
    estimates = c(0.8, 1.3, 1.05, 0.6, 1.7, 0.95), stderr = c(0.1, 0.2, 0.08, 0.15, 0.3, 0.05)
  ),
  slope = list(
    scale = "normal", estimates = c(1.02, 0.97, 1.05, 0.99), stderr = c(0.1, 0.12, 0.09, 0.2)
  )
)

there <- list(logit = qlogis, log = log, normal = identity)
back <- list(logit = plogis, log = exp, normal = identity)
steep <- list(logit = function(p) p * (1 - p), log = identity, normal = function(p) 1)

analysed <- function(set) {
  y <- there[[set$scale]](set$estimates)
  se <- set$stderr / steep[[set$scale]](set$estimates)
  fit <- rma(yi = y, sei = se, method = "REML", test = "knha",
             control = list(threshold = 1e-14, maxiter = 10000))
  told <- predict(fit)
  shown <- function(x) back[[set$scale]](as.numeric(x))
  c(set, list(
    value = shown(told$pred), low = shown(told$ci.lb), high = shown(told$ci.ub),
    prediction_low = shown(told$pi.lb), prediction_high = shown(told$pi.ub),
    tau2 = fit$tau2, i2 = fit$I2 / 100, statistic = fit$QE, p_value = fit$QEp
  ))
}

imputed <- function(q, se, n) {
  found <- pool.scalar(q, se^2, n = n, k = 1)
  list(estimates = q, stderr = se, subjects = n, value = found$qbar, within = found$ubar,
       between = found$b, variance = found$t, freedom = found$df, fmi = found$fmi)
}

write_json17(list(
  versions = package_versions(c("metafor", "mice")),
  recipe = "rma(method = 'REML', test = 'knha'), predict(); mice::pool.scalar",
  places = lapply(sets, analysed),
  imputations = list(
    many = imputed(c(0.93, 0.81, 1.02, 0.88, 0.97), c(0.21, 0.2, 0.22, 0.2, 0.21), 250),
    few = imputed(c(1.4, 2.1), c(0.3, 0.25), 40),
    alike = imputed(c(0.5, 0.50001, 0.49999), c(0.1, 0.1, 0.1), 1000)
  )
), "pooling.json")
