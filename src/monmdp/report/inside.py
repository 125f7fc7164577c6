def explorer(run, problem, config):
    return {}
