# Reference values of a cause under delayed entry: cumulative incidence from a time on for those
# event-free then, and scores of predicted incidence given entry.
# Run in this directory: Rscript entry_causes.R  (writes entry_causes.json)
#
# Kaplan-Meier, the censoring distribution G and the incidence are those of survfit with
# Surv(entry, time, ...); scores are sums over subjects and pairs, written out.

suppressPackageStartupMessages(library(survival))
source("json17.R")

grid <- c(1, 2, 4, 6, 9, 13, 18, 30)

draw <- function(n, tied) {
  m <- 5 * n
  x <- rnorm(m)
  first <- rweibull(m, 1.3, 12 * exp(-0.5 * x))
  second <- rweibull(m, 1.1, 20)
  censored <- runif(m, 2, 25)
  entry <- ifelse(runif(m) < 0.25, 0, runif(m, 0, 8))
  if (tied) {
    first <- ceiling(first); second <- ceiling(second); censored <- ceiling(censored)
    entry <- floor(entry)
  }
  time <- pmin(first, second, censored)
  status <- ifelse(first <= pmin(second, censored), 1L, ifelse(second <= censored, 2L, 0L))
  data.frame(entry, time, status, x)[time > entry, ][seq_len(n), ]
}

# G at equal times: events leave first, then censorings, and entries come last (see entry.R).
censoring <- function(data) {
  step <- if (all(data$time == round(data$time))) 1e-3 else 0
  later <- data$time + ifelse(data$status > 0, 0, step)
  fit <- survfit(Surv(data$entry + 2 * step, later, data$status == 0) ~ 1)
  at <- sort(unique(data$time))
  values <- c(1, fit$surv)[findInterval(at + step + 1e-9, fit$time) + 1]
  list(right = function(t) c(1, values)[findInterval(t, at) + 1],
       left = function(t) c(1, values)[findInterval(t, at, left.open = TRUE) + 1])
}

scores <- function(data) {
  n <- nrow(data)
  entry <- data$entry; time <- data$time; status <- data$status
  rate <- cbind(0.05 * exp(0.6 * data$x), 0.04 * exp(-0.2 * data$x))
  total <- rowSums(rate)
  values <- lapply(1:2, function(k) {
    outer(seq_len(n), grid, function(i, t) rate[i, k] / total[i] * (1 - exp(-total[i] * t)))
  })
  cif <- function(i, t, k) approx(c(0, grid), c(0, values[[k]][i, ]), xout = t)$y
  free <- function(i, t) 1 - cif(i, t, 1) - cif(i, t, 2)
  given <- function(i, t, k) (cif(i, t, k) - cif(i, entry[i], k)) / free(i, entry[i])
  g <- censoring(data)
  at_entry <- ifelse(entry > 0, g$right(entry), 1)
  own <- at_entry / g$left(time)
  weight <- function(t) {
    ifelse(!(entry < t | entry == 0), 0,
           ifelse(time > t, at_entry / g$right(t), ifelse(status > 0, own, 0)))
  }
  brier <- function(t, k) {
    risk <- sapply(seq_len(n), given, t = t, k = k)
    w <- weight(t)
    sum(w * (ifelse(time <= t & status == k, 1, 0) - risk)^2) / sum(entry < t | entry == 0)
  }
  auc <- function(t, k, every) {
    risk <- sapply(seq_len(n), given, t = t, k = k)
    w <- weight(t)
    case <- which(time <= t & status == k)
    other <- every & time <= t & status > 0 & status != k
    control <- which(time > t & (entry < t | entry == 0) | other)
    pair <- outer(w[case], w[control])
    right <- outer(risk[case], risk[control], ">") + outer(risk[case], risk[control], "==") / 2
    sum(pair * right) / sum(pair)
  }
  concordance <- function(risk, k, tau, weighted) {
    above <- 0; below <- 0
    for (i in which(status == k & time < tau)) for (j in seq_len(n)) {
      other <- status[j] > 0 && status[j] != k && time[j] <= time[i]
      later <- time[j] > time[i] || (time[j] == time[i] && status[j] == 0)
      met <- if (other) time[j] else time[i]
      together <- all(entry[c(i, j)] < met | entry[c(i, j)] == 0)
      if (j == i || !(other || later) || !together) next
      w <- if (!weighted) 1 else {
        at_entry[i] / g$left(time[i]) * at_entry[j] / g$left(if (other) time[j] else time[i])
      }
      above <- above + w * ((risk[i] > risk[j]) + (risk[i] == risk[j]) / 2)
      below <- below + w
    }
    above / below
  }
  slope <- function(i, t, k) {
    right <- findInterval(t, grid, left.open = TRUE) + 1
    nodes <- c(0, grid); rises <- c(0, values[[k]][i, ])
    (rises[right + 1] - rises[right]) / (nodes[right + 1] - nodes[right])
  }
  likelihood <- mean(sapply(seq_len(n), function(i) {
    here <- if (status[i] > 0) slope(i, time[i], status[i]) else free(i, time[i])
    log(here / free(i, entry[i]))
  }))
  risk <- round(sapply(seq_len(n), cif, t = 10, k = 1), 2)
  times <- c(3, 6, 10)
  fit <- survfit(Surv(entry, time, factor(status, 0:2)) ~ 1, data = data, id = seq_len(n))
  begins <- c(2.5, 5.5)
  later <- lapply(begins, function(s) {
    found <- survfit(Surv(entry, time, factor(status, 0:2)) ~ 1, data = data, id = seq_len(n),
                     start.time = s)
    list(begin = s, times = found$time[found$time > s],
         incidence = t(found$pstate[found$time > s, 2:3]))
  })
  list(
    data = as.list(data[c("entry", "time", "status")]), grid = grid,
    incidence = list(values[[1]], values[[2]]), times = times,
    brier = lapply(1:2, function(k) sapply(times, brier, k = k)),
    auc_all_controls = sapply(times, auc, k = 1, every = TRUE),
    auc_event_free = sapply(times, auc, k = 1, every = FALSE),
    risk = risk, tau = 12,
    concordance = concordance(risk, 1, 12, FALSE), concordance_ipcw = concordance(risk, 1, 12, TRUE),
    log_likelihood = likelihood, from_a_time_on = later
  )
}

set.seed(1918)
result <- list(
  recipe = paste("survfit of Surv(entry, time, factor(status)), start.time for those event-free",
                 "later; G: survfit of flipped events, tied censorings moved by 0.001, entries by",
                 "0.002; scores written out as sums with these"),
  versions = package_versions("survival"),
  datasets = list(continuous = scores(draw(80, FALSE)), tied = scores(draw(80, TRUE)))
)
write_json17(result, "entry_causes.json")
