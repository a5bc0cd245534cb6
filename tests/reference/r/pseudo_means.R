# Reference values for the mean of Kaplan-Meier, jackknife pseudo-means and the censoring
# distribution. Run in this directory: Rscript pseudo_means.R  (writes pseudo_means.json)
#
# Everything is refitted with survival::survfit, once per left-out or added subject.
# survival::pseudo is not used: it is an infinitesimal jackknife, a different number.

suppressPackageStartupMessages({
  library(survival)
  library(prodlim)
})
source("json17.R")

# Mean of Kaplan-Meier: area under the right-continuous step function up to the last observed
# time. tail "linear" adds the triangle from (t_last, S_last) to (t_last / (1 - S_last), 0),
# "hold" adds nothing.
theta <- function(time, event, tail) {
  fit <- survfit(Surv(time, event) ~ 1, se.fit = FALSE)
  s_last <- tail(fit$surv, 1)
  t_last <- tail(fit$time, 1)
  area <- sum(diff(c(0, fit$time)) * c(1, head(fit$surv, -1)))
  if (tail == "linear" && s_last > 0) area <- area + 0.5 * s_last * (t_last / (1 - s_last) - t_last)
  area
}

# Horizon: (min(time, tau), event | time >= tau). Everybody who reaches tau becomes an event at
# tau, so Kaplan-Meier falls to zero there and there is no tail. That needs somebody in the set
# with time >= tau, which the choice of tau below ensures for every set that is fitted.
theta_tau <- function(time, event, tau) {
  stopifnot(any(time >= tau))
  theta(pmin(time, tau), event | time >= tau, "hold")
}

# N theta(D) - (N - 1) theta(D without i), for every subject i of D.
pseudo_in_sample <- function(time, event, mean_of) {
  n <- length(time)
  full <- mean_of(time, event)
  left_out <- vapply(seq_len(n), function(i) mean_of(time[-i], event[-i]), 0)
  list(theta = full, pseudo = n * full - (n - 1) * left_out)
}

# (N + 1) theta(D + i) - N theta(D), D = train, for every test subject i.
pseudo_out_of_sample <- function(time, event, train, test, mean_of) {
  n <- length(train)
  full <- mean_of(time[train], event[train])
  added <- vapply(test, function(i) mean_of(time[c(train, i)], event[c(train, i)]), 0)
  list(theta = full, pseudo = (n + 1) * added - n * full)
}

variants <- function(taus) {
  fixed <- list(
    linear = function(time, event) theta(time, event, "linear"),
    hold = function(time, event) theta(time, event, "hold")
  )
  at_tau <- lapply(taus, function(tau) function(time, event) theta_tau(time, event, tau))
  c(fixed, setNames(at_tau, paste0("tau_", taus)))
}

# Reverse Kaplan-Meier: at a tied time the events leave the risk set first,
# G(t) = product over t_k <= t of 1 - c_k / (n_k - d_k); G(t-) is the value before t.
censoring <- function(time, event) {
  fit <- survfit(Surv(time, event) ~ 1, se.fit = FALSE)
  at_risk <- fit$n.risk - fit$n.event
  G <- cumprod(ifelse(fit$n.censor > 0, 1 - fit$n.censor / at_risk, 1))
  # Independent checks: prodlim's own reverse estimator, and plain Kaplan-Meier of the censoring
  # flags after moving every (whole-number) censoring time half a unit later.
  by_prodlim <- prodlim(Hist(time, event) ~ 1, data = data.frame(time, event), reverse = TRUE)
  stopifnot(all(by_prodlim$time == fit$time), max(abs(by_prodlim$surv - G)) < 1e-13)
  shifted <- survfit(Surv(time + 0.5 * (event == 0), event == 0) ~ 1, se.fit = FALSE)
  at_times <- summary(shifted, times = fit$time + 0.5, extend = TRUE)$surv
  stopifnot(max(abs(at_times - G)) < 1e-13)
  list(
    recipe = "reverse KM, events leave the risk set first at ties; G at times, G_left = G(times-)",
    times = fit$time, G = G, G_left = c(1, head(G, -1))
  )
}

reference <- function(time, event, taus, source) {
  n <- length(time)
  train <- seq(1, n, by = 2)
  test <- seq(2, n, by = 2)
  km <- survfit(Surv(time, event) ~ 1, se.fit = FALSE)
  # "hold" must be what survival itself calls the restricted mean up to the last time.
  rmean <- summary(survfit(Surv(time, event) ~ 1), rmean = max(time))$table[["rmean"]]
  stopifnot(abs(rmean - theta(time, event, "hold")) < 1e-9)
  kinds <- variants(taus)
  list(
    source = source,
    time = time, event = as.integer(event),
    tau = as_array(taus),
    km = list(
      recipe = "survfit(Surv(time, event) ~ 1): surv is S at times, all distinct observed times",
      times = km$time, n_risk = as.integer(km$n.risk), n_event = as.integer(km$n.event),
      n_censor = as.integer(km$n.censor), surv = km$surv
    ),
    censoring = censoring(time, event),
    in_sample = c(
      list(
        recipe = "pseudo[i] = N theta(D) - (N-1) theta(D without i); not clipped at tau"
      ),
      lapply(kinds, function(k) pseudo_in_sample(time, event, k))
    ),
    out_of_sample = c(
      list(
        recipe = "pseudo[j] = (N+1) theta(D + i) - N theta(D), D = train, i = test[j], from 0",
        train = as.integer(train - 1), test = as.integer(test - 1)
      ),
      lapply(kinds, function(k) pseudo_out_of_sample(time, event, train, test, k))
    )
  )
}

# Whole-unit times: T and C are rounded down before the flag is set, T <= C being an event, so
# that every kind of tie occurs, also at time 0.
draw_tied <- function(n, mean_event, censor_low, censor_high, follow_up = Inf) {
  event_time <- floor(rexp(n, 1 / mean_event))
  censor_time <- pmin(floor(runif(n, censor_low, censor_high)), follow_up)
  list(time = pmin(event_time, censor_time), event = event_time <= censor_time)
}

set.seed(20240611)
# Follow-up ends at 10, where events and censorings are tied: KM ends above zero.
tied <- draw_tied(150, 8, 0, 16, follow_up = 10)
at_end <- tied$time == max(tied$time)
stopifnot(any(tied$event[at_end]), any(!tied$event[at_end]))
# KM of the training half reaches zero at 7 while test subjects, censored ones too, lie beyond it.
to_zero <- draw_tied(60, 6, 0, 20)
train_half <- seq_along(to_zero$time) %% 2 == 1
to_zero$event[train_half & to_zero$time >= 7] <- TRUE
to_zero$time[train_half] <- pmin(to_zero$time[train_half], 7)
last <- train_half & to_zero$time == 7
beyond <- !train_half & to_zero$time > 7
stopifnot(any(last), any(beyond & to_zero$event), any(beyond & !to_zero$event))

result <- list(
  versions = package_versions(c("survival", "prodlim")),
  conventions = list(
    area = "step: right-continuous Kaplan-Meier from 0 to the last observed time of the fitted set",
    linear = "plus, where S_last > 0, the triangle (t_last, S_last) to (t_last/(1 - S_last), 0)",
    hold = "nothing after the last observed time",
    tau = "(time, event) replaced by (min(time, tau), event or time >= tau); area stops at tau",
    rounding = "pseudo is a difference of products with N: rounding about N * theta * 1e-15"
  ),
  datasets = list(
    lung = reference(
      lung$time, lung$status == 2, c(365, 700.5),
      "survival::lung, time and status == 2"
    ),
    tied = reference(
      tied$time, tied$event, c(5, 8.5),
      "generated: whole-number times, ties of events and censorings, KM does not reach zero"
    ),
    to_zero = reference(
      to_zero$time, to_zero$event, c(3, 6.5),
      "generated: as tied, but KM of the training half reaches zero at 7, before some test times"
    )
  )
)
write_json17(result, "pseudo_means.json")
