# Reference values under competing risks for calibration: pseudo-observations of the incidence by
# survival::pseudo, their least squares with the complementary log-log link by nls, groups of risk
# with Aalen-Johansen by survival::survfit, and O/E, for the two models of incidence_scores.json.
# Run in this directory after incidence_scores.R: Rscript incidence_calibration.R
# (reads incidence.json and incidence_scores.json, writes incidence_calibration.json)

suppressPackageStartupMessages({
  library(survival)
  library(jsonlite)
})
source("json17.R")

given <- fromJSON("incidence.json", simplifyVector = TRUE)
scores <- fromJSON("incidence_scores.json", simplifyVector = TRUE)

fit_of <- function(data) {
  survfit(Surv(time, factor(status, 0:2)) ~ 1, data = data)
}

# State 1 is event-free, 2 and 3 are the causes.
incidence_at <- function(data, at, cause) {
  summary(fit_of(data), times = at, extend = TRUE)$pstate[1, cause + 1]
}

regression <- function(theta, p) {
  d <- data.frame(theta = theta, x = log(-log(1 - p)))
  slope <- nls(theta ~ 1 - exp(-exp(a + b * x)), data = d, start = list(a = 0, b = 0.5))
  slope <- unname(coef(slope))
  for (k in 1:50) {  # to the last digit
    h <- exp(slope[1] + slope[2] * d$x)
    first <- h * exp(-h)
    gap <- d$theta - (1 - exp(-h))
    J <- cbind(first, first * d$x)
    slope <- slope + solve(crossprod(J), crossprod(J, gap))[, 1]
  }
  a <- 0
  for (k in 1:200) {
    h <- exp(a + d$x)
    first <- h * exp(-h)
    a <- a + sum(first * (d$theta - (1 - exp(-h)))) / sum(first^2)
  }
  list(intercept = a, slope = slope[2])
}

groups_of <- function(data, p, at, cause, groups) {
  size <- length(p) / groups
  place <- ceiling(rank(p, ties.method = "first") / size)
  lapply(seq_len(groups), function(k) {
    rows <- which(place == k)
    list(observed = incidence_at(data[rows, ], at, cause), expected = mean(p[rows]))
  })
}

reference <- function(name) {
  data <- data.frame(time = given$datasets[[name]]$data$time,
                     status = given$datasets[[name]]$data$status)
  one <- scores$datasets[[name]]
  place <- 3
  at <- one$times[place]
  # pseudo() evaluates the call once more, so the data have to be in sight.
  seen <<- data
  fit <- survfit(Surv(time, factor(status, 0:2)) ~ 1, data = seen)
  blocks <- lapply(c(first = 1, second = 2), function(cause) {
    theta <- as.numeric(pseudo(fit, times = at, type = "pstate")[, cause + 1])
    models <- lapply(one$models, function(model) {
      p <- model[[cause]][, place]
      c(regression(theta, p),
        list(ratio = incidence_at(data, at, cause) / mean(p),
             groups = groups_of(data, p + 1e-9 * seq_along(p), at, cause, 5)))
    })
    list(pseudo = theta, models = models)
  })
  list(recipe = "pseudo(survfit(Surv(time, factor(status)) ~ 1), type = 'pstate')", at = at,
       causes = blocks)
}

result <- list(
  versions = package_versions("survival"),
  datasets = list(continuous = reference("continuous"), tied = reference("tied"))
)
write_json17(result, "incidence_calibration.json")
