# Reference values under delayed entry (left truncation): Kaplan-Meier, Nelson-Aalen, the censoring
# distribution, cumulative incidence of two causes, and concordance over pairs at risk together.
# Run in this directory: Rscript entry.R  (writes entry.json)
#
# Three data sets: "continuous" has no ties, "tied" has whole-number times at which entries, events
# and censorings meet, "thin" starts with a risk set that becomes empty before others enter.

suppressPackageStartupMessages(library(survival))
source("json17.R")

draw <- function(n, kind) {
  repeat_n <- 4 * n
  x <- rnorm(repeat_n)
  first <- rweibull(repeat_n, 1.3, 10 * exp(-0.5 * x))
  second <- rweibull(repeat_n, 1.1, 25)
  censored <- runif(repeat_n, 2, 25)
  entry <- ifelse(runif(repeat_n) < 0.25, 0, runif(repeat_n, 0, 8))
  if (kind == "tied") {
    first <- ceiling(first); second <- ceiling(second); censored <- ceiling(censored)
    entry <- floor(entry)
  }
  if (kind == "thin") entry <- pmax(entry, 2)
  time <- pmin(first, second, censored)
  status <- ifelse(first <= pmin(second, censored), 1L, ifelse(second <= censored, 2L, 0L))
  risk <- round(x + rnorm(repeat_n, sd = 0.7), 1)  # some risks are equal
  data <- data.frame(entry, time, status, risk)[time > entry, ][seq_len(n), ]
  if (kind == "thin") {
    data[1, ] <- c(0, 1.5, 1, 0.3)
    data[2, ] <- c(0, 1.2, 0, -0.4)
  }
  data
}

# G: at equal times events leave the risk set first, then censorings, and entries come last. Moves
# by 0.001 say so to survfit where times are whole numbers; where none are tied nothing has to move.
reverse <- function(data) {
  step <- if (all(data$time == round(data$time))) 1e-3 else 0
  later <- data$time + ifelse(data$status > 0, 0, step)
  fit <- survfit(Surv(data$entry + 2 * step, later, data$status == 0) ~ 1)
  at <- sort(unique(data$time))
  c(1, fit$surv)[findInterval(at + step + 1e-9, fit$time) + 1]
}

reference <- function(data) {
  event <- data$status > 0
  fit <- survfit(Surv(entry, time, event) ~ 1, data = data)
  hazard <- survfit(Surv(entry, time, event) ~ 1, data = data, stype = 2, ctype = 1)
  causes <- survfit(Surv(entry, time, factor(status, 0:2)) ~ 1, data = data,
                    id = seq_len(nrow(data)))
  pairs <- concordance(Surv(entry, time, event) ~ risk, data = data, reverse = TRUE)
  late <- concordance(Surv(entry, time, event) ~ risk, data = data, reverse = TRUE, ymax = 7.5)
  list(
    data = as.list(data), times = fit$time, at_risk = fit$n.risk, events = fit$n.event,
    survival = fit$surv, nelson_aalen = hazard$surv, censoring = reverse(data),
    incidence_times = causes$time, incidence = t(causes$pstate[, 2:3]),
    incidence_stderr = t(causes$std.err[, 2:3]),
    concordance = list(value = unname(pairs$concordance), variance = pairs$var,
                       concordant = unname(pairs$count["concordant"]),
                       discordant = unname(pairs$count["discordant"]),
                       tied = unname(pairs$count["tied.x"])),
    concordance_until = list(ymax = 7.5, value = unname(late$concordance), variance = late$var)
  )
}

set.seed(1907)
result <- list(
  recipe = paste("survfit and concordance of Surv(entry, time, event);",
                 "censoring: survfit of flipped events, tied censorings moved by 0.001, entries by 0.002"),
  versions = package_versions("survival"),
  datasets = lapply(setNames(nm = c("continuous", "tied", "thin")),
                    function(kind) reference(draw(80, kind)))
)
write_json17(result, "entry.json")
