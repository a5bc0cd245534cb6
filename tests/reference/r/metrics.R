# Reference values for discrimination, probability scores, residuals and calibration.
# Run in this directory: Rscript metrics.R  (writes metrics.json)
#
# Two data sets, each with a training and a test half and two Cox models fitted on the training
# half: A on x1 + x2, B on x1. "continuous" has no ties at all; "tied" has whole-number times
# (events and censorings share them) and covariates on a coarse lattice (risks are tied too).
# Cox fits use Breslow's ties, so that S(t | x) = exp(-H0(t) exp(risk)) holds exactly.

suppressPackageStartupMessages({
  library(survival)
  library(riskRegression)
  library(pec)
  library(rms)
})
source("json17.R")

# ---- data and models -----------------------------------------------------------------------

draw_continuous <- function(n) {
  x1 <- rnorm(n)
  x2 <- rnorm(n)
  event_time <- 10 * (rexp(n) / exp(0.8 * x1 + 0.5 * x2))^(1 / 1.4)
  censor_time <- runif(n, 0, 30)
  data.frame(x1, x2, time = pmin(event_time, censor_time),
             event = as.integer(event_time <= censor_time))
}

# Times are rounded up before the flag is set, T <= C being an event.
draw_tied <- function(n) {
  x1 <- round(2 * rnorm(n)) / 2
  x2 <- rbinom(n, 1, 0.4)
  event_time <- ceiling(6 * (rexp(n) / exp(0.7 * x1 + 0.6 * x2))^(1 / 1.2))
  censor_time <- ceiling(runif(n, 0, 16))
  data.frame(x1, x2, time = pmin(event_time, censor_time),
             event = as.integer(event_time <= censor_time))
}

# Iterate Cox fits to rounding error: the default tolerance leaves only about nine digits.
tight <- coxph.control(eps = 1e-12, toler.chol = 1e-13, iter.max = 100)

cox <- function(formula, data, ties = "breslow") {
  # coxph looks its formula's variables up where the formula was written.
  coxph(formula, data = data, ties = ties, control = tight, x = TRUE)
}

fit_models <- function(train) {
  list(
    A = cox(Surv(time, event) ~ x1 + x2, train),
    B = cox(Surv(time, event) ~ x1, train)
  )
}

# Uncentred linear predictor, so that exp(risk) multiplies the hazard of x = 0.
risk_of <- function(fit, data) unname(predict(fit, newdata = data, type = "lp", reference = "zero"))

baseline_of <- function(fit) {
  h <- basehaz(fit, centered = FALSE)
  list(times = h$time, cumhaz = h$hazard)
}

step_at <- function(baseline, t) c(0, baseline$cumhaz)[findInterval(t, baseline$times) + 1]

survival_of <- function(fit, data, times) {
  S <- exp(-outer(exp(risk_of(fit, data)), step_at(baseline_of(fit), times)))
  # The same curves by survival's own prediction.
  by_survfit <- t(summary(survfit(fit, newdata = data, se.fit = FALSE), times = times,
                          extend = TRUE)$surv)
  stopifnot(max(abs(S - by_survfit)) < 1e-12)
  S
}

model_block <- function(fit, train, test, times) {
  list(
    recipe = "risk = x beta (not centred); survival[i, k] = exp(-H0(times[k]) exp(risk[i])), test",
    beta = as_array(coef(fit)), # coxph(..., ties = "breslow")
    baseline = baseline_of(fit), # basehaz(fit, centered = FALSE), a right-continuous step function
    risk = risk_of(fit, test),
    survival = survival_of(fit, test, times)
  )
}

# ---- concordance ---------------------------------------------------------------------------

# One call with two fits gives both concordances and their joint covariance, hence the paired
# difference A - B. var is the infinitesimal jackknife (with G, where used, taken as known).
concordance_block <- function(fits, test, timewt, ymax = NULL) {
  args <- list(fits$A, fits$B, newdata = test, timewt = timewt)
  if (!is.null(ymax)) args$ymax <- ymax
  both <- do.call(concordance, args)
  stored <- data.frame(test, risk = risk_of(fits$A, test))
  args <- list(Surv(time, event) ~ risk, data = stored, reverse = TRUE, timewt = timewt)
  if (!is.null(ymax)) args$ymax <- ymax
  alone <- do.call(concordance, args)
  # The stored risk gives the same answer as the fitted model.
  stopifnot(abs(alone$concordance - both$concordance[1]) < 1e-12,
            abs(alone$var - both$var[1, 1]) < 1e-12)
  contrast <- c(1, -1)
  delta <- sum(contrast * both$concordance)
  se <- sqrt(drop(contrast %*% both$var %*% contrast))
  count <- both$count
  list(
    ymax = if (is.null(ymax)) NA_real_ else ymax,
    C = both$concordance, # order A, B
    var = unname(both$var), # covariance matrix, order A, B
    concordant = count[, "concordant"], discordant = count[, "discordant"],
    tied_risk = count[, "tied.x"], # pairs with tied risk, which count one half
    difference = list(delta = delta, se = se, p = 2 * pnorm(-abs(delta / se))) # A - B
  )
}

concordance_all <- function(fits, test, taus) {
  list(
    harrell = c(
      list(recipe = paste(
        "concordance(A, B, newdata = test): comparable if t_i < t_j, or t_i = t_j with i event",
        "and j censored; two events at one time are not comparable; tied risk counts 1/2"
      )),
      concordance_block(fits, test, "n")
    ),
    uno = c(
      list(recipe = paste(
        "timewt = 'n/G2': anchors weighted 1/G(t_i-)^2, G = reverse KM of the TEST data with",
        "events leaving first; ymax keeps anchors with t_i <= ymax (inclusive)"
      )),
      list(untruncated = concordance_block(fits, test, "n/G2")),
      list(truncated = lapply(taus, function(tau) concordance_block(fits, test, "n/G2", tau)))
    )
  )
}

# ---- Brier score and AUC -------------------------------------------------------------------

by_model <- function(table, columns) {
  models <- as.character(unique(table$model))
  setNames(lapply(models, function(m) as.list(table[table$model == m, ..columns])), models)
}

by_contrast <- function(table, delta) {
  label <- paste(table$model, table$reference, sep = " - ")
  columns <- c(delta, "se", "lower", "upper", "p")
  out <- lapply(unique(label), function(l) {
    setNames(as.list(table[label == l, ..columns]), c("delta", "se", "lower", "upper", "p"))
  })
  setNames(out, unique(label))
}

run_score <- function(survival, test, times, conservative) {
  Score(lapply(survival, function(S) 1 - S), formula = Surv(time, event) ~ 1, data = test,
        times = times, metrics = c("auc", "brier"), summary = c("ipa", "ibs"),
        cens.model = "km", se.fit = TRUE, conf.int = 0.95, conservative = conservative,
        null.model = TRUE, contrasts = TRUE, progress.bar = NULL)
}

score_tables <- function(score) {
  list(
    brier = by_model(score$Brier$score, c("Brier", "se", "lower", "upper", "IPA", "IBS")),
    auc = by_model(score$AUC$score, c("AUC", "se", "lower", "upper")),
    brier_contrasts = by_contrast(score$Brier$contrasts, "delta.Brier"),
    auc_contrasts = by_contrast(score$AUC$contrasts, "delta.AUC")
  )
}

score_block <- function(survival, test, times) {
  full <- score_tables(run_score(survival, test, times, conservative = FALSE))
  fixed <- score_tables(run_score(survival, test, times, conservative = TRUE))
  # Same estimates, and a second standard error that treats G as known: for Brier the standard
  # deviation (n - 1) of the n weighted contributions divided by sqrt(n).
  for (table in names(full)) {
    for (row in names(full[[table]])) {
      full[[table]][[row]]$se_fixed_G <- fixed[[table]][[row]]$se
    }
  }
  c(
    list(recipe = list(
      call = "riskRegression::Score(list(A, B), Surv(time, event) ~ 1, data = test, times = times)",
      weights = paste(
        "cens.model = 'km': G is the reverse KM of the TEST data; events t_i <= t weigh 1/G(t_i-),",
        "subjects with t_i > t weigh 1/G(t), divided by n"
      ),
      se_fixed_G = "conservative = TRUE, G taken as known: sd(f, n - 1) / sqrt(n), f_i per subject",
      f = paste(
        "Brier: f_i the weighted squared error minus Brier; AUC: f_i = n times the sum of",
        "w_i w_j (h_ij - AUC) over the pairs of i, divided by the sum of w_i w_j over all pairs,",
        "h_ij = 1, 1/2 or 0"
      ),
      se = paste(
        "conservative = FALSE, G estimated: the same with f_i + mean over l of f_l (for Brier the",
        "weighted squared error of l) times the integral of dM_i(u) n / Y(u) over u < t_l (l an",
        "event) or u <= t (l event-free at t); M_i the censoring martingale, Y(u) all with",
        "t_i >= u (at ties this keeps the events that G itself leaves out)"
      ),
      null = "Null model: KM of the test data; IPA = 1 - Brier / Brier of the Null model",
      auc = "cases t_i <= t weigh 1/G(t_i-), controls t_i > t; tied risk counts 1/2",
      contrasts = "label 'A - B' means delta = metric(A) - metric(B); p two-sided normal",
      IBS = paste(
        "Score's own: sum of Brier(times[k]) (times[k+1] - times[k]) up to t, divided by t:",
        "left rectangles, nothing for [0, times[1]] in the numerator"
      )
    )),
    full
  )
}

# ---- integrated Brier score ----------------------------------------------------------------

trapezoid <- function(x, y) sum(diff(x) * (head(y, -1) + tail(y, -1)) / 2)

ibs_block <- function(survival, test, times, score) {
  # pec wants the grid to start at 0, where every survival probability is 1.
  with_zero <- lapply(survival, function(S) cbind(1, S))
  error <- pec(with_zero, formula = Surv(time, event) ~ 1, data = test, times = c(0, times),
               start = 0, maxtime = max(times), exact = FALSE, cens.model = "marginal",
               splitMethod = "none", verbose = FALSE)
  curves <- c("Null model" = "Reference", A = "A", B = "B")
  for (m in names(curves)) {
    stopifnot(max(abs(error$AppErr[[curves[[m]]]][-1] - score$brier[[m]]$Brier)) < 1e-12)
  }
  from_zero <- crps(error, times = max(times), start = 0)
  from_first <- crps(error, times = max(times), start = times[1])
  length_of_grid <- max(times) - times[1]
  list(
    recipe = list(
      pec_from_zero = "pec::crps(start = 0): left rectangles on {0} and times, over max(times)",
      pec_from_first = "pec::crps(start = times[1]): left rectangles, over the grid's length",
      trapezoid = "trapezoid of the Score Brier values over times, divided by the grid's length"
    ),
    pec_from_zero = setNames(as.list(from_zero[curves, 1]), names(curves)),
    pec_from_first = setNames(as.list(from_first[curves, 1]), names(curves)),
    trapezoid = lapply(score$brier[names(curves)],
                       function(b) trapezoid(times, b$Brier) / length_of_grid)
  )
}

# ---- log-rank ------------------------------------------------------------------------------

logrank_block <- function(group, test) {
  fit <- survdiff(Surv(time, event) ~ group, data = test)
  list(
    recipe = "survdiff(Surv(time, event) ~ group), test data; group = risk of A above its median",
    group = as.integer(group),
    observed = unname(fit$obs), expected = unname(fit$exp), # order group 0, 1
    variance = fit$var[1, 1],
    chisq = fit$chisq, p = pchisq(fit$chisq, 1, lower.tail = FALSE)
  )
}

# ---- residuals -----------------------------------------------------------------------------

# Infinite for an event where the predicted cumulative hazard is still zero (a test event before
# the first training event). JSON has no infinity: NA, which is written as null.
deviance_of <- function(event, cumhaz) {
  m <- event - cumhaz
  d <- sign(m) * sqrt(-2 * (m + ifelse(event == 1, log(cumhaz), 0)))
  ifelse(is.infinite(d), NA_real_, d)
}

residual_block <- function(fit, train, test) {
  baseline <- baseline_of(fit)
  own <- function(data) step_at(baseline, data$time) * exp(risk_of(fit, data))
  in_train <- unname(residuals(fit, type = "martingale"))
  in_test <- unname(predict(fit, newdata = test, type = "expected"))
  stopifnot(max(abs(train$event - own(train) - in_train)) < 1e-12,
            max(abs(own(test) - in_test)) < 1e-12,
            max(abs(deviance_of(train$event, own(train)) - residuals(fit, "deviance"))) < 1e-10)
  list(
    recipe = paste(
      "model A. cox_snell = predicted cumulative hazard at the subject's own time;",
      "martingale = event - cox_snell;",
      "deviance = sign(m) sqrt(-2 (m + event log(event - m))), null where that is infinite"
    ),
    train = list(
      cox_snell = train$event - in_train,
      martingale = in_train, # residuals(fit, "martingale")
      deviance = unname(residuals(fit, type = "deviance"))
    ),
    test = list(
      cox_snell = in_test, # predict(fit, newdata = test, type = "expected")
      martingale = test$event - in_test,
      deviance = deviance_of(test$event, in_test)
    )
  )
}

# ---- calibration ---------------------------------------------------------------------------

# Restricted cubic spline with three knots: x itself and one cubic term, linear outside the knots.
rcs3 <- function(x, k) {
  cube <- function(u) pmax(u, 0)^3
  term <- cube(x - k[1]) - cube(x - k[2]) * (k[3] - k[1]) / (k[3] - k[2]) +
    cube(x - k[3]) * (k[2] - k[1]) / (k[3] - k[2])
  basis <- cbind(x, term / (k[3] - k[1])^2)
  by_hmisc <- Hmisc::rcspline.eval(x, knots = k, inclx = TRUE)
  stopifnot(max(abs(basis - by_hmisc)) < 1e-10)
  unname(basis)
}

# Austin, Harrell and van Klaveren (2020): Cox regression of the outcome on a spline in
# log(-log(1 - p)), p the predicted probability of an event by t; "observed" is its fitted
# probability at t, and ICI, E50, E90 are mean, median and 90 % quantile of |observed - p|.
ici_with_ties <- function(p, t, test, ties) {
  x <- log(-log(1 - p))
  knots <- unname(quantile(x, c(0.1, 0.5, 0.9), type = 7))
  basis <- rcs3(x, knots)
  fit <- cox(Surv(time, event) ~ basis, test, ties)
  h <- basehaz(fit, centered = FALSE)
  h_t <- c(0, h$hazard)[findInterval(t, h$time) + 1]
  observed <- 1 - exp(-h_t * exp(drop(basis %*% coef(fit))))
  if (ties == "efron") check_with_rms(x, t, test, observed)
  gap <- abs(observed - p)
  list(
    knots = knots, beta = unname(coef(fit)), baseline_cumhaz = h_t, observed = observed,
    ICI = mean(gap), E50 = median(gap), E90 = unname(quantile(gap, 0.9, type = 7)),
    Emax = max(gap)
  )
}

# Austin's published recipe: rms::cph on rcs(x, 3) and survest, with Efron's ties.
check_with_rms <- function(x, t, test, observed) {
  data <- data.frame(time = test$time, event = test$event, x = x)
  fit <- cph(Surv(time, event) ~ rcs(x, 3), data = data, x = TRUE, y = TRUE, surv = TRUE,
             eps = 1e-10, tol = 1e-13)
  by_rms <- 1 - survest(fit, newdata = data, times = t, se.fit = FALSE)$surv
  stopifnot(max(abs(by_rms - observed)) < 1e-6)
}

calibration_block <- function(survival, risk, test, times, at) {
  slope <- function(r) {
    fit <- cox(Surv(time, event) ~ r, test)
    list(slope = coef(fit)[[1]], se = sqrt(vcov(fit)[1, 1]))
  }
  p <- 1 - survival$A[, at]
  list(
    recipe = list(
      ici = paste(
        "model A, p = 1 - survival at t, x = log(-log(1 - p)), knots at the 10, 50, 90 %",
        "quantiles (type 7) of x; coxph on {x, ((x-k1)+^3 - (x-k2)+^3 (k3-k1)/(k3-k2) +",
        "(x-k3)+^3 (k2-k1)/(k3-k2)) / (k3-k1)^2}; observed = 1 - exp(-H0(t) exp(basis beta));",
        "ICI, E50, E90, Emax = mean, median, 90 % quantile (type 7), max of |observed - p|"
      ),
      ties = "breslow and efron name the ties rule of coxph and of its baseline hazard",
      slope = "coxph(Surv(time, event) ~ risk, ties = 'breslow') on the test data: coefficient, se"
    ),
    t = times[at], column = at - 1L, # column of survival, counted from 0
    breslow = ici_with_ties(p, times[at], test, "breslow"),
    efron = ici_with_ties(p, times[at], test, "efron"),
    slope = lapply(risk, slope)
  )
}

# ---- one data set --------------------------------------------------------------------------

reference <- function(train, test, times, taus, at, source) {
  fits <- fit_models(train)
  survival <- lapply(fits, survival_of, data = test, times = times)
  risk <- lapply(fits, risk_of, data = test)
  score <- score_block(survival, test, times)
  list(
    source = source,
    train = as.list(train), test = as.list(test), times = times,
    models = lapply(fits, model_block, train = train, test = test, times = times),
    concordance = concordance_all(fits, test, taus),
    score = score,
    ibs = ibs_block(survival, test, times, score),
    logrank = logrank_block(risk$A > median(risk$A), test),
    residuals = residual_block(fits$A, train, test),
    calibration = calibration_block(survival, risk, test, times, at)
  )
}

set.seed(20240613)
continuous <- list(train = draw_continuous(150), test = draw_continuous(120))
tied <- list(train = draw_tied(150), test = draw_tied(120))
stopifnot(!anyDuplicated(c(continuous$train$time, continuous$test$time)))

result <- list(
  versions = package_versions(c("survival", "riskRegression", "pec", "rms", "Hmisc", "prodlim")),
  datasets = list(
    continuous = reference(
      continuous$train, continuous$test,
      times = c(1, 2.5, 4, 6, 8, 11, 14), taus = c(7, 12), at = 4L,
      "generated, no tied times and no tied risks"
    ),
    # Grid and horizons: some on tied times, some between them.
    tied = reference(
      tied$train, tied$test,
      times = c(1, 2, 3.5, 5, 6, 7.5, 9), taus = c(6, 7.5), at = 4L,
      "generated, whole-number times with every kind of tie, tied risks"
    )
  )
)
write_json17(result, "metrics.json")
