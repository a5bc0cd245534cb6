# Times one metric inside R: Rscript metrics.R WORK SMALL LARGE BUDGET
# SMALL and LARGE are folders written by in_r.py: raw doubles in the machine's byte order. SMALL is
# run once beforehand, so that loading and compiling are in no number. Prints one line of JSON.
suppressPackageStartupMessages(library(survival))

vector_of <- function(folder, name) {
  path <- file.path(folder, paste0(name, ".f64"))
  if (file.exists(path)) readBin(path, "double", file.size(path) / 8)
}

read_data <- function(folder) {
  names <- c("time", "event", "risk", "times", "middle", "last")
  data <- sapply(names, function(name) vector_of(folder, name), simplify = FALSE)
  curves <- vector_of(folder, "curves") # by column: all subjects at the first time, and so on
  if (!is.null(curves)) data$incidence <- 1 - matrix(curves, nrow = length(data$time))
  data$frame <- data.frame(time = data$time, event = data$event)
  data$y <- Surv(data$time, data$event)
  data
}

score <- function(data, risk, times, ...) {
  # An intercept alone: Kaplan-Meier weights.
  suppressWarnings(riskRegression::Score(list(model = risk), Surv(time, event) ~ 1,
    data = data$frame, times = times, null.model = FALSE, contrasts = FALSE, ...
  ))
}

works <- list(
  harrell = function(data) {
    fit <- concordance(data$y ~ data$risk, reverse = TRUE)
    c(fit$concordance, fit$var)[1]
  },
  uno = function(data) {
    concordance(data$y ~ data$risk, reverse = TRUE, timewt = "n/G2", ymax = data$last)$concordance
  },
  kaplan_meier = function(data) mean(survfit(data$y ~ 1, se.fit = FALSE)$surv),
  pseudo = function(data) {
    outcomes <<- data$frame # pseudo() looks the data of the fit up again, by name
    fit <- survfit(Surv(time, event) ~ 1, data = outcomes)
    mean(pseudo(fit, times = data$middle, type = "rmst"))
  },
  ibs = function(data) {
    found <- score(data, data$incidence, data$times, metrics = "brier", summary = "ibs",
      se.fit = FALSE
    )
    tail(found$Brier$score$IBS, 1)
  },
  auc = function(data) {
    found <- score(data, data$risk, data$times, metrics = "auc", se.fit = FALSE)
    mean(found$AUC$score$AUC)
  },
  auc_interval = function(data) {
    score(data, data$risk, data$middle, metrics = "auc", se.fit = TRUE)$AUC$score$AUC
  }
)

status <- function(key) {
  line <- grep(paste0("^", key, ":"), readLines("/proc/self/status"), value = TRUE)
  as.numeric(gsub("[^0-9]", "", line))
}

# R's clock counts milliseconds: quick calls are repeated.
cpu_seconds <- function(call, calls = 1) {
  gc(verbose = FALSE)
  used <- system.time(for (i in seq_len(calls)) value <- call(), gcFirst = FALSE)
  list(seconds = sum(used[c("user.self", "sys.self")]) / calls, value = value)
}

first_run <- function(call) {
  gc(verbose = FALSE)
  if (!file.exists("/proc/self/clear_refs")) return(c(cpu_seconds(call), megabytes = NA))
  cat("5", file = "/proc/self/clear_refs") # the peak starts again from what is resident now
  before <- status("VmRSS")
  c(cpu_seconds(call), megabytes = max(status("VmHWM") - before, 0) / 1024)
}

main <- function(work, small, large, budget) {
  works[[work]](read_data(small))
  data <- read_data(large)
  call <- function() works[[work]](data)
  first <- first_run(call)
  best <- max(first$seconds, 1e-3)
  calls <- if (best < 0.05) ceiling(0.1 / best) else 1
  spent <- 0
  repeats <- 0
  while (best < 2 * budget && (spent < budget || repeats < 2) && repeats < 100) {
    again <- cpu_seconds(call, calls)$seconds
    best <- min(best, again)
    spent <- spent + again * calls
    repeats <- repeats + 1
  }
  megabytes <- if (is.na(first$megabytes)) "null" else sprintf("%.3f", first$megabytes)
  cat(sprintf(
    '{"seconds": %.6f, "megabytes": %s, "value": %.12g}\n', best, megabytes, first$value
  ))
}

given <- commandArgs(trailingOnly = TRUE)
main(given[1], given[2], given[3], as.numeric(given[4]))
