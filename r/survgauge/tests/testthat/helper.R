library(survival)

skip_without_command <- function() {
  if (is.null(sg_command(required = FALSE))) {
    skip("the command survgauge is not installed here")
  }
}

# Some covariates need an extra of the command, without which it says so.
skip_without_extra <- function(code) {
  tryCatch(code, survgauge_error = function(e) {
    skip_if(grepl("needs an extra", conditionMessage(e)), conditionMessage(e))
    stop(e)
  })
}

veterans <- function() {
  data <- veteran[order((seq_len(nrow(veteran)) * 37) %% 137), ]
  train <- data[1:90, ]
  test <- data[91:137, ]
  list(
    train = train, test = test,
    y_train = Surv(train$time, train$status), y = Surv(test$time, test$status),
    cox = coxph(Surv(time, status) ~ karno + age, train, x = TRUE)
  )
}

value <- function(ev, metric, model = ev$metrics$model[[1]]) {
  ev$metrics$value[ev$metrics$metric == metric & ev$metrics$model == model]
}
