import { own, type Raw } from '../../../resources/raw.ts'
import { change, fill } from '../shared/edit.ts'
import { defaultPodSpec } from '../shared/pod-spec/defaults.ts'

const SPEC = { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 }
const ROLLING_UPDATE = { maxUnavailable: '25%', maxSurge: '25%' }

/** The defaults of apps/v1. */
export function defaultDeployment(deployment: Raw): Raw {
  return change(deployment, 'spec', (given) => {
    const spec = change(fill(given, SPEC), 'strategy', defaultStrategy)
    return change(spec, 'template', (template) => change(template, 'spec', defaultPodSpec))
  })
}

function defaultStrategy(given: Raw): Raw {
  const strategy = fill(given, { type: 'RollingUpdate' })
  if (own(strategy, 'type') !== 'RollingUpdate') return strategy
  return change(strategy, 'rollingUpdate', (rolling) => fill(rolling, ROLLING_UPDATE))
}
