test_that("a matrix has its times from the argument or from its columns", {
  S <- matrix(c(1, 1, 0.5, 0.75), 2)
  expect_equal(sg_prediction(S, c(0, 5))$times, c(0, 5))
  colnames(S) <- c("0", "2.5")
  expect_equal(sg_prediction(S)$times, c(0, 2.5))
  expect_error(sg_prediction(unname(S)), "no times", class = "survgauge_error")
  expect_error(sg_prediction(S, 1:3), "2 columns.* 3 times", class = "survgauge_error")
})

test_that("a frame of probabilities is a matrix", {
  S <- matrix(c(1, 1, 0.5, 0.75), 2)
  expect_equal(sg_prediction(as.data.frame(S), c(0, 5))$values, S, ignore_attr = TRUE)
  expect_equal(sg_prediction(data.frame("0" = S[, 1], "2.5" = S[, 2], check.names = FALSE))$times, c(0, 2.5))
  expect_equal(sg_prediction(data.frame(X0 = S[, 1], X2.5 = S[, 2]))$times, c(0, 2.5))
})

test_that("gaps and times that are none are refused", {
  S <- matrix(c(1, 1, 0.5, 0.75), 2)
  expect_error(sg_prediction(replace(S, 4, NA), c(0, 5)), "NA in row 2", class = "survgauge_error")
  expect_error(sg_prediction(c(5, 6, NA)), "NA in row 3", class = "survgauge_error")
  for (times in list(c(0, 0), c(0, Inf), c(0, NA), c("a", "b"))) {
    expect_error(sg_prediction(S, times), "different finite numbers", class = "survgauge_error")
  }
  expect_error(sg_prediction(matrix(c(5, 6))), "is a vector", class = "survgauge_error")
})

test_that("risks are turned into survival", {
  risk <- matrix(c(0, 0, 0.5, 0.25), 2)
  expect_equal(sg_risk(risk, c(0, 5))$values, 1 - risk)
  expect_error(sg_risk(1:3), "matrix", class = "survgauge_error")
})

test_that("a survfit object gives all steps", {
  v <- veterans()
  fit <- survfit(v$cox, newdata = v$test)
  p <- sg_prediction(fit)
  expect_equal(dim(p$values), c(47L, length(fit$time)))
  expect_equal(p$values[3, ], unname(fit$surv[, 3]), ignore_attr = TRUE)
  expect_equal(p$interpolation, "step")
  expect_equal(dim(sg_prediction(survfit(v$cox, newdata = v$test[1, ]))$values)[[1]], 1L)
  expect_error(sg_prediction(survfit(v$y ~ 1)), "new data", class = "survgauge_error")
})

test_that("states of a survfit object are causes", {
  data <- na.omit(pbc[, c("id", "time", "status", "age", "bili")])
  data$event <- factor(data$status, 0:2, c("censored", "transplant", "death"))
  fit <- survfit(coxph(Surv(time, event) ~ age + bili, data, id = id), newdata = data[1:5, ])
  p <- sg_prediction(fit)
  expect_equal(names(p$values), c("transplant", "death"))
  expect_equal(p$values$death[4, 100], fit$pstate[100, 4, 3], ignore_attr = TRUE)
})

test_that("predictCox and cause-specific Cox models of riskRegression are read", {
  skip_if_not_installed("riskRegression")
  v <- veterans()
  times <- c(30, 100, 300)
  p <- riskRegression::predictCox(v$cox, newdata = v$test, times = times, type = "survival")
  expect_equal(sg_prediction(p)$values, p$survival)
  risk <- riskRegression::predictRisk(v$cox, newdata = v$test, times = times)
  expect_equal(sg_risk(risk, times)$values, p$survival, ignore_attr = TRUE)
  data <- na.omit(pbc[, c("time", "status", "age", "bili")])
  fit <- riskRegression::CSC(prodlim::Hist(time, status) ~ age + bili, data)
  one <- function(k) predict(fit, newdata = data[1:6, ], times = c(500, 2000), cause = k)
  p <- sg_prediction(list("1" = one(1), "2" = one(2)))
  expect_equal(p$times, c(500, 2000))
  expect_equal(p$values[["2"]], one(2)$absRisk)
  expect_error(sg_prediction(one(1)), "one cause", class = "survgauge_error")
})

test_that("ranger's curves are read", {
  skip_if_not_installed("ranger")
  v <- veterans()
  forest <- ranger::ranger(Surv(time, status) ~ karno + age, v$train, num.trees = 5, seed = 1)
  p <- sg_prediction(predict(forest, v$test))
  expect_equal(p$times, forest$unique.death.times)
  expect_equal(dim(p$values), c(47L, length(p$times)))
})

# The packages are not needed: objects have the structure that their manuals describe.
test_that("an object like mlr3proba's PredictionSurv is read", {
  like <- function(...) structure(list2env(list(data = list(...))), class = c("PredictionSurv", "Prediction", "R6"))
  curves <- matrix(c(1, 1, 0.5, 0.75), 2, dimnames = list(NULL, c("0", "12")))
  p <- sg_prediction(like(row_ids = 1:2, crank = c(2, 1), distr = curves))
  expect_equal(p$times, c(0, 12))
  expect_equal(p$interpolation, "step")
  expect_equal(sg_prediction(like(crank = c(2, 1), response = c(3, 4)))[c("kind", "values")], list(kind = "time", values = c(3, 4)))
  expect_equal(sg_prediction(like(crank = c(2, 1)))$kind, "risk")
  expect_error(sg_prediction(like(distr = array(1, c(2, 2, 2)))), "matrix", class = "survgauge_error")
})

test_that("frames like those of tidymodels are read", {
  one <- function(p) data.frame(.eval_time = c(10, 20), .pred_survival = p)
  frame <- data.frame(id = 1:2)
  frame$.pred <- list(one(c(0.9, 0.8)), one(c(0.7, 0.5)))
  p <- sg_prediction(frame[".pred"])
  expect_equal(p$values, rbind(c(0.9, 0.8), c(0.7, 0.5)))
  expect_equal(p$times, c(10, 20))
  expect_equal(sg_prediction(data.frame(.pred_time = c(3, 4)))$kind, "time")
  frame$.pred[[2]]$.eval_time <- c(10, 30)
  expect_error(sg_prediction(frame[".pred"]), "row 2", class = "survgauge_error")
})

test_that("what is not known is refused with what is", {
  expect_error(sg_prediction(quote(x)), "sg_risk", class = "survgauge_error")
  expect_error(sg_prediction(data.frame(a = 1)), "time or risk", class = "survgauge_error")
})
