"""Programs of training: optimizers with all their options, schedules, averages, scaled gradients, autocast."""

from .writer import Row

MODELS = ["Linear(3, 2)", "Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))",
          "Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))", "Linear(3, 2, dtype=torch.float64)",
          "Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5))", "Linear(3, 2, bias=False)"]
LR = "{|, lr=0.1|, lr=torch.tensor(0.1)|, lr=0.0|, lr=-1}"
COMMON = "{|, maximize=True}{|, foreach=True|, foreach=False|, differentiable=False}"
DECAY = "{|, weight_decay=0.1|, weight_decay=-1}"
BETAS = "{|, betas=(0.5, 0.75)|, betas=(0.0, 0.0)|, betas=(1.0, 0.5)}{|, eps=0.1}"
OPTIMIZERS = [f"torch.optim.{text}" for text in (
    f"SGD(PARAMS{LR}{DECAY}{{|, momentum=0.9|, momentum=0.9, nesterov=True|, momentum=0.5, dampening=0.5|, nesterov=True}}{COMMON}{{|, fused=True}})",
    f"Adam(PARAMS{LR}{BETAS}{DECAY}{{|, amsgrad=True}}{COMMON}{{|, fused=True}}{{|, decoupled_weight_decay=True}}{{|, capturable=True}})",
    f"AdamW(PARAMS{LR}{BETAS}{DECAY}{{|, amsgrad=True}}{COMMON}{{|, fused=True}})",
    f"Adamax(PARAMS{LR}{BETAS}{DECAY}{COMMON})",
    f"NAdam(PARAMS{LR}{BETAS}{DECAY}{COMMON}{{|, momentum_decay=0.5|, momentum_decay=-1}}{{|, decoupled_weight_decay=True}})",
    f"RAdam(PARAMS{LR}{BETAS}{DECAY}{COMMON}{{|, decoupled_weight_decay=True}})",
    f"ASGD(PARAMS{LR}{DECAY}{COMMON}{{|, lambd=0.1}}{{|, alpha=0.5}}{{|, t0=0}})",
    f"Adadelta(PARAMS{LR}{DECAY}{COMMON}{{|, rho=0.5|, rho=2}}{{|, eps=0.1}})",
    f"Adafactor(PARAMS{LR}{DECAY}{{|, maximize=True}}{{|, beta2_decay=-0.5}}{{|, eps=(None, 0.01)|, eps=(0.1, 0.1)}}{{|, d=0.5}}{{|, foreach=True}})",
    f"Adagrad(PARAMS{LR}{DECAY}{COMMON}{{|, lr_decay=0.5}}{{|, initial_accumulator_value=0.5}}{{|, eps=0.1}}{{|, fused=True}})",
    f"RMSprop(PARAMS{LR}{DECAY}{COMMON}{{|, alpha=0.5}}{{|, momentum=0.5}}{{|, centered=True}}{{|, eps=0.1}})",
    f"Rprop(PARAMS{LR}{COMMON}{{|, etas=(0.25, 2.0)}}{{|, step_sizes=(0.01, 1)}})",
    "LBFGS(PARAMS{|, lr=0.5}, max_iter={2|3|1}{|, history_size=2}{|, line_search_fn='strong_wolfe'}{|, tolerance_grad=0.1})",
    "Muon([p for p in {m}.parameters() if p.ndim == {2|1}]{|, lr=0.1}{|, weight_decay=0.0}{|, nesterov=False}{|, momentum=0.5}{|, ns_steps=2}"
    "{|, adjust_lr_fn='match_rms_adamw'})",
    "SparseAdam(PARAMS{|, lr=0.1}{|, betas=(0.5, 0.75)})",
)]
PARAMETERS = ["{m}.parameters()", "[{{'params': [p], 'lr': 0.1 / (i + 1)}} for i, p in enumerate({m}.parameters())]",
              "{m}.named_parameters()", "[]", "list({m}.parameters()) * 2", "{m}"]
SCHEDULERS = [f"torch.optim.lr_scheduler.{text}" for text in (
    "StepLR({o}, {2|1}{|, gamma=0.5}{|, last_epoch=-1})",
    "MultiStepLR({o}, {[1, 3]|[2, 2]|[]}{|, gamma=0.5})",
    "ConstantLR({o}{|, factor=0.5}{|, total_iters=2})",
    "LinearLR({o}{|, start_factor=0.25}{|, end_factor=0.5}{|, total_iters=3|, total_iters=0})",
    "ExponentialLR({o}, {0.5|1.0|0.9})",
    "PolynomialLR({o}{|, total_iters=3}{|, power=2.0})",
    "CosineAnnealingLR({o}, {3|1|4}{|, eta_min=0.01})",
    "CosineAnnealingWarmRestarts({o}, {2|1|0}{|, T_mult=2}{|, eta_min=0.01})",
    "LambdaLR({o}, lambda epoch: 0.5 ** epoch)",
    "MultiplicativeLR({o}, lambda epoch: 0.5)",
    "CyclicLR({o}, 0.01, 0.1{|, step_size_up=2}{|, step_size_down=3}{|, mode='triangular2'|, mode='exp_range', gamma=0.5}{|, cycle_momentum=False}"
    "{|, scale_fn=lambda x: 0.5})",
    "OneCycleLR({o}, 0.1, {total_steps=5|epochs=2, steps_per_epoch=3}{|, pct_start=0.5}{|, anneal_strategy='linear'}{|, cycle_momentum=False}"
    "{|, three_phase=True}{|, div_factor=5.0})",
    "ReduceLROnPlateau({o}{|, 'max'}{|, factor=0.5}{|, patience=0|, patience=1}{|, threshold=0.5}{|, threshold_mode='abs'}{|, cooldown=1}"
    "{|, min_lr=0.01|, min_lr=[0.01]}{|, eps=0.1})",
    "ChainedScheduler([torch.optim.lr_scheduler.ConstantLR({o}, 0.5, 2), torch.optim.lr_scheduler.ExponentialLR({o}, 0.5)])",
    "SequentialLR({o}, [torch.optim.lr_scheduler.ConstantLR({o}, 0.5, 2), torch.optim.lr_scheduler.ExponentialLR({o}, 0.5)], {[2]|[1]|[1, 2]})",
)] + ["torch.optim.swa_utils.SWALR({o}, {0.05|[0.05]}{|, anneal_epochs=2}{|, anneal_strategy='linear'})"]
AVERAGES = [f"torch.optim.swa_utils.AveragedModel({{m}}{text})" for text in (
    "", ", multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn({0.5|0.999|2})", ", avg_fn=torch.optim.swa_utils.get_ema_avg_fn({0.5|0.999})",
    ", multi_avg_fn=torch.optim.swa_utils.get_swa_multi_avg_fn()", ", avg_fn=torch.optim.swa_utils.get_swa_avg_fn()", ", use_buffers=True")]
CLIPS = [f"torch.nn.utils.{text}" for text in (
    "clip_grad_norm_({m}.parameters(), {0.5|10|0.0}{|, norm_type=1|, norm_type=float('inf')|, norm_type=0}{|, error_if_nonfinite=True}{|, foreach=True})",
    "clip_grad_norm({m}.parameters(), 0.5)",
    "clip_grad_value_({m}.parameters(), {0.5|0.01}{|, foreach=False})",
    "get_total_norm([p.grad for p in {m}.parameters() if p.grad is not None]{|, norm_type=1|, float('inf')})",
    "clip_grads_with_norm_({m}.parameters(), {0.5|10}, torch.tensor(2.0))",
    "parameters_to_vector({m}.parameters())",
    "vector_to_parameters(torch.arange({100.|3.}).sin(), {m}.parameters())",
)]
STEPS = {
    "o": ["{o}.step()", "{o}.zero_grad(set_to_none={flag})", "{o}.load_state_dict({o}.state_dict())", "{o}.state_dict()", "repr({o})",
          "{o}.load_state_dict(copy.deepcopy({o}.state_dict()))", "{o}.defaults", "{o}.add_param_group({{'params': [torch.nn.Parameter(torch.ones(2))]}})",
          "{o}.param_groups[0]['lr'] *= 0.5", "{o}.param_groups[0].update(weight_decay=0.1)",
          "{o}.register_step_post_hook(lambda optimizer, args, kwargs: log.append(len(args)))",
          "{o}.register_step_pre_hook(lambda optimizer, args, kwargs: log.append(len(kwargs)))"],
    "s": ["{s}.step()", "{s}.step()", "{s}.get_last_lr()", "{s}.state_dict().keys() - {{'_initial_step'}}", "{s}.load_state_dict({s}.state_dict())"],
    "p": ["{p}.step({1.0|0.5|2.0|float('nan')})", "{p}.step({1.0|0.5|2.0})", "{p}.get_last_lr()", "{p}.load_state_dict({p}.state_dict())"],
    "a": ["{a}.update_parameters({m})", "{a}({x})", "torch.optim.swa_utils.update_bn([{x}], {a})", "list({a}.state_dict())", "copy.deepcopy({a})"],
}
DTYPES = "{torch.bfloat16|torch.float16|torch.float32}"


def write(writer):
    """A model, an optimizer, and steps of training."""
    writer.special = False
    model = writer.do(f"torch.nn.{writer.pick(MODELS)}")
    writer.do("[]", target="log")
    dtype = ", dtype=torch.float64" if "float64" in writer.pair.text else ""
    x = writer.do(f"torch.arange(12.{dtype}).sin().reshape(4, 3)")
    parameters = writer.pick(PARAMETERS) if writer.seldom(4) else PARAMETERS[0]
    made = {"m": model, "x": x}
    made["o"] = writer.apply(Row(writer.pick(OPTIMIZERS).replace("PARAMS", parameters)), m=model)
    step(writer, made)
    while not writer.seldom(9) and len(writer.pair.steps) < 16:
        writer.pick((step, schedule, step, act, act, average, clip, scale, autocast))(writer, made)


def backward(writer, made):
    writer.do("({m}({x}) ** 2).sum().backward()", target="", m=made["m"], x=made["x"])


def step(writer, made):
    """A gradient and a step by it, or a step that computes the gradient."""
    if "LBFGS" in writer.pair.text or writer.seldom(6):
        backward(writer, made)
        closure = "lambda: ({o}.zero_grad(), ({m}({x}) ** 2).sum(), ({m}({x}) ** 2).sum().backward())[1]"
        writer.do(f"{{o}}.step({closure})", **{name: made[name] for name in "omx"})
    else:
        backward(writer, made)
        writer.do("{o}.step()" + mark(writer, made, "o"), target="", o=made["o"])


def mark(writer, made, name):
    """What findings have in common: the class of what a line is about."""
    return f"  # {type(writer.pair.oracle[made[name]]).__name__}"


def schedule(writer, made):
    if "s" in made or "p" in made:
        return act(writer, made)
    scheduler = writer.apply(Row(writer.pick(SCHEDULERS)), o=made["o"])
    made["p" if type(writer.pair.oracle[scheduler]).__name__ == "ReduceLROnPlateau" else "s"] = scheduler


def average(writer, made):
    made["a"] = writer.apply(Row(writer.pick(AVERAGES)), m=made["m"])


def act(writer, made):
    """Something done to the optimizer, its schedule or an average."""
    name = writer.pick([name for name in "ospa" if name in made])
    text = writer.pick(STEPS[name])
    given = {key: made[key] for key in made if f"{{{key}}}" in text}
    target = "" if "] *= " in text else None
    writer.apply(Row(text + mark(writer, made, name)), target=target, **given)


def clip(writer, made):
    writer.apply(Row(writer.pick(CLIPS)), m=made["m"])


def scale(writer, made):
    """A step with scaled gradients."""
    if "g" not in made:
        options = "{|, init_scale=4.0|, init_scale=1e30}{|, growth_interval=1}{|, enabled=False}{|, growth_factor=3.0}{|, backoff_factor=0.25}"
        made["g"] = writer.apply(Row("torch.amp.GradScaler('cpu'" + options + ")"))
    given = {name: made[name] for name in "gmx"}
    writer.do("{g}.scale(({m}({x}) ** 2).sum()).backward()", target="", **given)
    if writer.seldom(3):
        writer.do("{g}.unscale_({o})", target="", g=made["g"], o=made["o"])
    writer.do("{g}.step({o})", g=made["g"], o=made["o"])
    writer.do("{g}.update()", target="", g=made["g"])
    writer.do("({g}.get_scale(), {g}.state_dict(), {g}.is_enabled())", g=made["g"])


def autocast(writer, made):
    """A gradient through a forward in less precision."""
    text = "with torch.autocast('cpu', dtype=" + DTYPES + "{|, enabled=False}{|, cache_enabled=False}): log.append(MODEL)"
    call = writer.pick(AUTOCAST)
    writer.apply(Row(text.replace("MODEL", call)), target="", m=made["m"], x=made["x"])
    writer.do("log[-1].pow(3).sum().backward()", target="")


AUTOCAST = ["{m}({x})", "{m}({x}).exp()", "{m}({x}) @ {x}[:2, :2]", "torch.nn.functional.mse_loss({m}({x}), {x}[:, :2])",
            "{m}({x}).softmax(-1)", "torch.nn.functional.layer_norm(torch.cat([{m}({x}), {x}], 1), (5,))", "torch.cat([{m}({x}), {x}], 1)",
            "torch.nn.functional.cross_entropy({m}({x}), {x}[:, :2].softmax(-1))"]
