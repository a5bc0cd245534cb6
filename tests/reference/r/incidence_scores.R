# Reference values under competing risks: Brier score and AUC of each cause with standard errors
# and contrasts, by riskRegression::Score; concordance by pec::cindex.
# Run in this directory after incidence.R: Rscript incidence_scores.R
# (reads incidence.json, writes incidence_scores.json)
#
# Two models A and B of the incidence of both causes at four times; their risks have ties.
# The second cause is scored with the two codes exchanged: with cause = 2 the estimates of this
# version are the same, but its standard errors of the AUC differ by up to 40 %. A jackknife agrees
# with those of the exchanged codes.

suppressPackageStartupMessages({
  library(riskRegression)
  library(survival)
  library(pec)
  library(jsonlite)
})
source("json17.R")

# Rounded, so that no two risks differ by rounding alone.
incidence <- function(x, times, top, scale) {
  round(t(sapply(x, function(one) top * plogis(one) * (1 - exp(-times / scale)))), 6)
}

score_of <- function(risks, data, times, cause, conservative) {
  if (cause == 2) data$status <- c(0, 2, 1)[data$status + 1]
  Score(risks, formula = Hist(time, status) ~ 1, data = data, times = times, cause = 1,
        metrics = c("auc", "brier"), cens.model = "km", se.fit = TRUE, conf.int = 0.95,
        conservative = conservative, null.model = TRUE, contrasts = TRUE, summary = "ipa",
        progress.bar = NULL)
}

# Concordance of Wolbers et al. of the risk at the last time, for events until it.
concordance_of <- function(risk, data, until, cause) {
  cindex(list(model = as.matrix(risk)), formula = Hist(time, status) ~ 1, data = data,
         eval.times = until, cause = cause, cens.model = "marginal",
         verbose = FALSE)$AppCindex$model
}

columns <- function(table, names, label) {
  sapply(unique(as.character(table[[label]])), function(one) {
    rows <- table[as.character(table[[label]]) == one, ]
    setNames(lapply(names, function(name) rows[[name]]), names)
  }, simplify = FALSE)
}

reference <- function(given, seed) {
  set.seed(seed)
  data <- data.frame(time = given$data$time, status = given$data$status)
  times <- c(2, 4, 7, 10)
  x <- round(rnorm(nrow(data)), 1) + 0.5 * (data$status == 1)
  z <- round(rnorm(nrow(data)), 1)
  models <- list(
    A = list(first = incidence(x, times, 0.6, 8), second = incidence(-x, times, 0.5, 11)),
    B = list(first = incidence(z, times, 0.5, 8), second = incidence(z + x, times, 0.4, 11))
  )
  blocks <- lapply(c(first = 1, second = 2), function(cause) {
    risks <- lapply(models, function(model) model[[cause]])
    full <- score_of(risks, data, times, cause, FALSE)
    fixed <- score_of(risks, data, times, cause, TRUE)
    block <- list(
      brier = columns(full$Brier$score, c("Brier", "se", "IPA"), "model"),
      brier_fixed = columns(fixed$Brier$score, c("Brier", "se"), "model"),
      auc = columns(full$AUC$score, c("AUC", "se"), "model"),
      auc_fixed = columns(fixed$AUC$score, c("AUC", "se"), "model")
    )
    both <- full$Brier$contrasts
    both <- both[as.character(both$model) == "B" & as.character(both$reference) == "A", ]
    ranks <- full$AUC$contrasts
    ranks <- ranks[as.character(ranks$model) == "B" & as.character(ranks$reference) == "A", ]
    last <- length(times)
    block$concordance <- lapply(risks, function(risk) {
      concordance_of(risk[, last], data, times[last], cause)
    })
    block$brier_difference <- list(delta = both$delta.Brier, se = both$se)
    block$auc_difference <- list(delta = ranks$delta.AUC, se = ranks$se)
    block
  })
  list(recipe = "Score(list(A, B), Hist(time, status) ~ 1, cause = 1, cens.model = 'km')",
       times = times, models = models, causes = blocks)
}

data <- fromJSON("incidence.json")$datasets
result <- list(
  versions = package_versions(c("riskRegression", "prodlim", "survival", "pec")),
  datasets = list(continuous = reference(data$continuous, 1), tied = reference(data$tied, 2))
)
write_json17(result, "incidence_scores.json")
