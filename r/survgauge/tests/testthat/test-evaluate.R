test_that("metrics, comparisons, warnings and a report come back", {
  skip_without_command()
  v <- veterans()
  times <- c(0, 30, 90, 180, 365)
  S <- t(summary(survfit(v$cox, newdata = v$test), times = times)$surv)
  other <- S^1.5
  ev <- sg_evaluate(list(cox = S, "too low" = other), v$y, times, train = v$y_train, tau = 365, unit = "days")
  expect_s3_class(ev, "sg_evaluation")
  expect_setequal(ev$metrics$model, c("cox", "too low"))
  expect_true(all(c("mae_within", "ibs", "uno") %in% ev$metrics$metric))
  expect_true(file.exists(ev$report))
  expect_gt(nrow(ev$comparisons), 0)
  expect_output(print(ev), "days")
  expect_identical(as.data.frame(ev), ev$metrics)
  row <- ev$metrics[ev$metrics$metric == "ibs" & ev$metrics$model == "cox", ]
  expect_true(row$low < row$value && row$value < row$high)
})

test_that("an infinite value leaves the others numbers", {
  skip_without_command()
  v <- veterans()
  rows <- function(...) matrix(c(...), nrow(v$test), 3, byrow = TRUE, dimnames = list(NULL, c(0, 500, 2000)))
  models <- list(never = rows(1, 1, 0), some = rows(1, 0.5, 0.1))
  ev <- sg_evaluate(models, v$y, train = v$y_train, metrics = "log_likelihood", report = NULL)
  expect_identical(value(ev, "log_likelihood", "never"), -Inf)
  expect_true(is.finite(value(ev, "log_likelihood", "some")))
})

test_that("a report with a relative path is where R is", {
  skip_without_command()
  v <- veterans()
  before <- setwd(tempdir())
  on.exit(setwd(before))
  ev <- sg_evaluate(list(a = 3 * v$test$karno), v$y, metrics = "uno", tau = 200, report = "here.html")
  expect_true(file.exists("here.html"))
  expect_true(file.exists(ev$report) && startsWith(ev$report, getwd()))
})

test_that("models whose names look alike are kept apart", {
  skip_without_command()
  v <- veterans()
  models <- list("a b" = 3 * v$test$karno, a_b = 2 * v$test$karno, "A b" = 1 * v$test$karno)
  ev <- sg_evaluate(models, v$y, metrics = "mae_uncensored", tau = 200, report = NULL, args = "--no-intervals")
  expect_length(unique(ev$metrics$value), 3)
})

test_that("survival, risks and column names are the same thing", {
  skip_without_command()
  v <- veterans()
  times <- c(0, 30, 90, 180, 365)
  S <- t(summary(survfit(v$cox, newdata = v$test), times = times)$surv)
  quick <- function(p, times = NULL) {
    value(sg_evaluate(p, v$y, times, train = v$y_train, metrics = "ibs", tau = 300, report = NULL, args = "--no-intervals"), "ibs")
  }
  one <- quick(S, times)
  expect_equal(quick(list(cox = sg_risk(1 - S, times))), one, tolerance = 1e-12)
  colnames(S) <- times
  expect_identical(quick(S), one)
})

test_that("steps are known where the object has them, and can be overruled", {
  skip_without_command()
  v <- veterans()
  fit <- survfit(v$cox, newdata = v$test)
  quick <- function(...) {
    value(sg_evaluate(list(cox = fit), v$y, train = v$y_train, metrics = "ibs", tau = 300, report = NULL, args = "--no-intervals", ...), "ibs")
  }
  steps <- quick()
  expect_identical(quick(interpolation = "step"), steps)
  expect_false(identical(quick(interpolation = "linear"), steps))
  expect_identical(quick(interpolation = c(cox = "linear")), quick(interpolation = "linear"))
})

test_that("predicted times, risks, groups, weights and clusters are passed on", {
  skip_without_command()
  v <- veterans()
  n <- nrow(v$test)
  ev <- sg_evaluate(
    list(times = 3 * v$test$karno, risk = data.frame(risk = -v$test$karno)), v$y,
    train = v$y_train, metrics = c("uno", "mae_uncensored"), tau = 300, report = NULL,
    by = data.frame(cell = v$test$celltype), cluster = rep(1:10, length.out = n),
    sample_weight = rep(c(1, 2), length.out = n)
  )
  expect_true("mae_uncensored" %in% ev$metrics$metric[ev$metrics$model == "times"])
  expect_false("mae_uncensored" %in% ev$metrics$metric[ev$metrics$model == "risk"])
  expect_true(any(grepl("squamous", unlist(ev$metrics))))
  expect_null(ev$report)
})

test_that("covariates are passed on", {
  skip_without_command()
  v <- veterans()
  X <- c("karno", "celltype")
  plain <- sg_evaluate(list(a = 3 * v$test$karno), v$y, train = v$y_train, metrics = "mae_within", tau = 200, report = NULL)
  given <- skip_without_extra(sg_evaluate(
    list(a = 3 * v$test$karno), v$y, train = v$y_train, metrics = "mae_within", tau = 200,
    X_train = v$train[X], X_test = v$test[X], report = NULL
  ))
  expect_false(identical(value(plain, "mae_within"), value(given, "mae_within")))
})

test_that("competing risks are evaluated by cause", {
  skip_without_command()
  data <- na.omit(pbc[, c("id", "time", "status", "age", "bili")])
  data$event <- factor(data$status, 0:2, c("censored", "transplant", "death"))
  train <- data[1:250, ]
  test <- data[-(1:250), ]
  fit <- survfit(coxph(Surv(time, event) ~ age + bili, train, id = id), newdata = test)
  y <- Surv(test$time, test$event)
  y_train <- Surv(train$time, train$event)
  ask <- function(predictions, ...) {
    sg_evaluate(predictions, y, train = y_train, metrics = c("brier", "auc"), time = 1500, report = NULL, ...)
  }
  ev <- ask(list(cox = fit), cause = "death")
  expect_true(value(ev, "brier") > 0 && value(ev, "brier") < 0.25)
  p <- sg_prediction(fit)
  named <- list(cox = setNames(lapply(p$values, function(x) { colnames(x) <- sprintf("%.17g", p$times); x }), c("1", "2")))
  expect_equal(value(ask(named, cause = "death", interpolation = "step"), "brier"), value(ev, "brier"))
  expect_false(value(ask(list(cox = fit), cause = "transplant"), "brier") == value(ev, "brier"))
  expect_error(ask(list(cox = fit)), "2 causes \\(transplant, death\\)", class = "survgauge_error")
  names(named$cox)[[1]] <- "cured"
  expect_error(ask(named, cause = "death"), "'cured'", class = "survgauge_error")
})

test_that("delayed entry and interval censoring are passed on", {
  skip_without_command()
  v <- veterans()
  S <- t(summary(survfit(v$cox, newdata = v$test), times = c(0, 60, 180, 365))$surv)
  times <- c(0, 60, 180, 365)
  late <- Surv(v$test$time / 5, v$test$time, v$test$status)
  ev <- sg_evaluate(list(cox = S), late, times, metrics = "ibs", tau = 300, report = NULL)
  expect_length(value(ev, "ibs"), 1)
  visits <- Surv(30 * floor(v$test$time / 30), 30 * floor(v$test$time / 30) + 30, type = "interval2")
  ev <- sg_evaluate(list(cox = S), visits, times, report = NULL)
  expect_gt(nrow(ev$metrics), 0)
})

test_that("errors are conditions with the sentence of the command", {
  skip_without_command()
  v <- veterans()
  S <- matrix(seq(1, 0.2, length.out = 5), 47, 5, byrow = TRUE, dimnames = list(NULL, c(0, 30, 90, 180, 365)))
  found <- tryCatch(sg_evaluate(list(cox = S[-1, ]), v$y, report = NULL), survgauge_error = identity)
  expect_s3_class(found, "error")
  expect_match(conditionMessage(found), "46")
  expect_false(grepl("^survgauge:|Traceback", conditionMessage(found)))
  expect_error(sg_evaluate(list(cox = S), v$y, metrics = "mae_witin", report = NULL), "mae_within", class = "survgauge_error")
  expect_error(sg_evaluate(list(S), v$y), "different name", class = "survgauge_error")
  expect_error(sg_evaluate(list(cox = unname(S)), v$y), "predictions\\$cox: .* no times", class = "survgauge_error")
  expect_error(sg_evaluate(list(cox = S), v$y, by = 1:3), "^by must have a value for each subject; got 3 values and 47 subjects", class = "survgauge_error")
  expect_error(sg_evaluate(list(cox = S), v$y, cause = "death"), "competing risks", class = "survgauge_error")
})

test_that("arguments are checked before the command runs", {
  skip_without_command()
  v <- veterans()
  days <- 3 * v$test$karno
  n <- length(days)
  ask <- function(..., y = v$y) sg_evaluate(list(a = days), y, ..., report = NULL)
  expect_error(ask(tau = NA), "tau must be a number", class = "survgauge_error")
  expect_error(ask(tau = c(1, 2)), "tau must be a number; got 1, 2", class = "survgauge_error")
  expect_error(ask(time = "a"), "time must be numbers", class = "survgauge_error")
  expect_error(ask(unit = c("days", "years")), "unit must be a word", class = "survgauge_error")
  expect_error(ask(cluster = replace(1:n, 3, NA)), "cluster must .* NA in row 3", class = "survgauge_error")
  expect_error(ask(sample_weight = c(NA, 2:n)), "sample_weight must .* NA in row 1", class = "survgauge_error")
  writeLines("", file <- tempfile())
  expect_error(ask(folder = file.path(file, "in")), "could not be made", class = "survgauge_error")
  expect_error(sg_evaluate(setNames(list(days), NA), v$y), "different name", class = "survgauge_error")
  cause <- factor(rep(c("no", "a", "b=c"), length.out = n), c("no", "a", "b=c"))
  several <- Surv(v$test$time, cause)
  expect_error(ask(y = several, train = v$y_train), "one kind of event and a, b=c", class = "survgauge_error")
  expect_error(ask(y = several, cause = "a"), "commas, colons or '='", class = "survgauge_error")
  expect_error(ask(y = several, cause = c("a", "b=c")), "cause must be one of", class = "survgauge_error")
  before <- options(survgauge.command = Sys.which("true")[[1]])
  on.exit(options(before))
  expect_error(ask(), "ended without results", class = "survgauge_error")
})

test_that("names may begin with dashes, and covariates may be missing", {
  skip_without_command()
  v <- veterans()
  days <- 3 * v$test$karno
  ask <- function(name, ...) {
    sg_evaluate(setNames(list(days), name), v$y, train = v$y_train, metrics = "mae_within", tau = 200, report = NULL, ...)
  }
  expect_equal(value(ask("--help"), "mae_within"), value(ask("a"), "mae_within"))
  gaps <- function(x) data.frame(age = replace(x$age, c(1, 4), NA))  # of one column: no empty lines
  ev <- skip_without_extra(ask("a", X_train = gaps(v$train), X_test = gaps(v$test)))
  expect_length(value(ev, "mae_within"), 1)
})

test_that("the command is found by option, environment and path", {
  before <- options(survgauge.command = "no-such-program")
  on.exit(options(before))
  expect_error(sg_command(), "survgauge.command says 'no-such-program'", class = "survgauge_error")
  expect_null(sg_command(required = FALSE))
  options(survgauge.command = c("Rscript", "--version"))
  expect_equal(sg_command()[[2]], "--version")
  folder <- tempfile()
  dir.create(folder)
  link <- file.path(folder, "link")
  if (file.symlink(Sys.which("Rscript"), link)) {
    options(survgauge.command = link)
    expect_equal(basename(sg_command()), "link")
    before_folder <- setwd(folder)
    options(survgauge.command = "./link")
    expect_true(file.exists(sg_command()) && startsWith(sg_command(), "/"))
    setwd(before_folder)
  }
  options(survgauge.command = NULL)
  set <- function(name, value) if (is.na(value)) Sys.unsetenv(name) else do.call(Sys.setenv, setNames(list(value), name))
  known <- Sys.getenv(c("SURVGAUGE", "PATH"), unset = NA)
  on.exit({ set("SURVGAUGE", known[[1]]); set("PATH", known[[2]]) }, add = TRUE)
  Sys.setenv(SURVGAUGE = "nothing-here")
  expect_error(sg_command(), "SURVGAUGE says", class = "survgauge_error")
  Sys.unsetenv("SURVGAUGE")
  Sys.setenv(PATH = tempdir())
  expect_error(sg_command(), "pip install survgauge", class = "survgauge_error")
})
