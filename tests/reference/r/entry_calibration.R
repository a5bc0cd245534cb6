# Reference values under delayed entry (left truncation) for calibration: Cox regressions of
# Surv(entry, time, event), pseudo-observations given entry (survival::pseudo where everybody enters
# at one time, a sum of survfit's steps where entries differ), regressions on them, Antolini's C.
# Run in this directory after entry.R: Rscript entry_calibration.R
# (reads entry.json, writes entry_calibration.json)

suppressPackageStartupMessages({
  library(survival)
  library(jsonlite)
  library(Hmisc)
})
source("json17.R")

given <- fromJSON("entry.json", simplifyVector = TRUE)
AT <- 6
TAU <- 9

# Curves that cross: a Weibull law of each subject, on a grid, joined by steps.
grid <- c(0.7, 1.5, 2.5, 3.5, 4.5, 6, 7.5, 9, 12, 16, 25)
curves_of <- function(data) {
  shape <- 0.9 + 0.6 * (seq_len(nrow(data)) %% 5) / 5
  outer(seq_len(nrow(data)), grid,
        function(i, t) exp(-(t / (12 * exp(-0.4 * data$risk[i])))^shape[i]))
}
read <- function(curves, t) cbind(1, curves)[, findInterval(t, grid) + 1]

cox <- function(data, x, ties) {
  fit <- coxph(Surv(entry, time, event) ~ x, data = cbind(data, x = x), ties = ties,
               control = coxph.control(eps = 1e-12, toler.chol = 1e-13, iter.max = 60))
  psi <- residuals(fit, type = "dfbeta")
  list(coefficient = unname(coef(fit)), variance = vcov(fit)[1, 1], robust = sum(psi^2))
}

# Blom's scores; equal risks share the mean of theirs.
rankits <- function(risk) {
  n <- length(risk)
  scores <- qnorm((seq_len(n) - 0.375) / (n + 0.25))
  ave(scores[rank(risk, ties.method = "first")], risk) / sqrt(8 / pi)
}

steps <- function(times, values) function(t, left = FALSE) {
  c(1, values)[findInterval(t, times, left.open = left) + 1]
}

# Pseudo-observations given entry: ahead(u) is what somebody event-free at u expects.
pseudo_given_entry <- function(data, fit, G, ahead, until) {
  u <- fit$time[fit$n.event > 0]
  h <- (fit$n.event / fit$n.risk)[fit$n.event > 0]
  worth <- sapply(u, ahead)
  sapply(seq_len(nrow(data)), function(i) {
    a <- data$entry[i]
    y <- data$time[i]
    there <- u > a & u <= min(y, until)
    jump <- as.numeric(data$event[i] & u == y)
    open <- sapply(u, function(v) G(v, left = TRUE)) / (if (a > 0) G(a) else 1)
    ahead(a) + sum((worth * (h - jump) / open)[there])
  })
}

# 1 - exp(-exp(X b + offset)) by least squares, to the last digit.
fitted_by_squares <- function(theta, X, offset) {
  b <- rep(0, ncol(X))
  loss <- function(b) sum((theta - (1 - exp(-exp(X %*% b + offset))))^2)
  for (k in 1:300) {
    h <- exp(as.vector(X %*% b + offset))
    J <- X * (h * exp(-h))
    step <- as.vector(solve(crossprod(J), crossprod(J, theta - (1 - exp(-h)))))
    while (loss(b + step) > loss(b) * (1 + 1e-9)) step <- step / 2
    b <- b + step
  }
  b
}

antolini <- function(data, curves, weighted, G) {
  above <- 0
  below <- 0
  for (i in which(data$event & data$time < TAU)) {
    t <- data$time[i]
    later <- data$time > t | (data$time == t & !data$event)
    s <- read(curves, t)
    for (j in setdiff(which(later & data$entry < t), i)) {
      w <- 1
      if (weighted) {
        at_entry <- function(k) if (data$entry[k] > 0) G(data$entry[k]) else 1
        w <- at_entry(i) * at_entry(j) / G(t, left = TRUE)^2
      }
      above <- above + w * ((s[i] < s[j]) + 0.5 * (s[i] == s[j]))
      below <- below + w
    }
  }
  above / below
}

at_one_entry <- function(data, from) {
  seen <<- data[data$time > from, ]
  seen$entry <<- from
  fit <- survfit(Surv(entry, time, event) ~ 1, data = seen)
  list(from = from, time = seen$time, event = seen$event,
       survival = as.numeric(pseudo(fit, times = AT, type = "surv")),
       rmst = as.numeric(pseudo(fit, times = TAU, type = "rmst")))
}

reference <- function(name) {
  one <- given$datasets[[name]]
  data <- as.data.frame(one$data)
  data$event <- data$status > 0
  curves <- curves_of(data)
  fit <- survfit(Surv(entry, time, event) ~ 1, data = data)
  S <- steps(fit$time, fit$surv)
  G <- steps(sort(unique(data$time)), one$censoring)
  entered <- which(data$entry < AT)
  theta <- pseudo_given_entry(data, fit, G, function(u) S(AT) / S(u), AT)[entered]
  mean_ahead <- function(u) {
    ends <- c(u, fit$time[fit$time > u & fit$time < TAU], TAU)
    sum(diff(ends) * S(head(ends, -1))) / S(u)
  }
  mean_time <- pseudo_given_entry(data, fit, G, function(u) mean_ahead(min(u, TAU)), TAU - 1e-9)
  at_entry <- sapply(seq_len(nrow(data)), function(i) read(curves, data$entry[i])[i])
  predicted <- 1 - (read(curves, AT) / at_entry)[entered]
  x <- log(-log(1 - predicted))
  knots <- unname(quantile(x, c(0.1, 0.5, 0.9)))
  design <- cbind(1, rcspline.eval(x, knots = knots, inclx = TRUE))
  observed <- 1 - exp(-exp(design %*% fitted_by_squares(1 - theta, design, 0 * x)))
  gap <- abs(observed - predicted)
  whole <- log(-log(read(curves, AT)))
  list(
    survival = curves,
    slope = lapply(c(efron = "efron", breslow = "breslow"), function(t) cox(data, whole, t)),
    royston = lapply(c(efron = "efron", breslow = "breslow"),
                     function(t) cox(data, rankits(data$risk), t)),
    antolini = list(plain = antolini(data, curves, FALSE, G), ipcw = antolini(data, curves, TRUE, G)),
    entered = entered - 1L, pseudo = theta, pseudo_mean = mean_time + data$entry,
    intercept = fitted_by_squares(1 - theta, matrix(1, length(x), 1), x),
    slope_at = fitted_by_squares(1 - theta, cbind(1, x), 0 * x)[2],
    ici = list(ici = mean(gap), e50 = unname(quantile(gap, 0.5)), e90 = unname(quantile(gap, 0.9))),
    one_entry = at_one_entry(data, 3)
  )
}

result <- list(
  recipe = paste("coxph(Surv(entry, time, event) ~ x); pseudo(survfit) of those still there at 3;",
                 "data and censoring distribution of entry.json"),
  versions = package_versions(c("survival", "Hmisc")),
  at = AT, tau = TAU, grid = grid,
  datasets = lapply(setNames(nm = c("continuous", "tied")), reference)
)
write_json17(result, "entry_calibration.json")
