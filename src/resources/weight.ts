import type { Findings } from './problem.ts'
import { isRaw, own, type Raw } from './raw.ts'
import { NAMES, named } from './names.ts'

const HEAVIEST = 65_535

/**
 * Weights by endpoint address, from annotation `service.orch.io/weight` of the
 * endpoints object: one integer for all of them, or a JSON object that maps
 * addresses to integers. 0 keeps an endpoint from new connections where the mode
 * knows weights.
 */
export function readWeights(annotations: Raw, findings: Findings): (ip: string) => number {
  const annotation = named(annotations, NAMES.weight)
  if (annotation === undefined) return () => 1
  const field = `metadata.annotations[${NAMES.weight[0]}]`
  const message = `must be an integer from 0 to ${HEAVIEST}, or a JSON object of address to such integers; 1 is used`
  const parsed = parse(annotation)
  if (isWeight(parsed)) return () => parsed
  if (!isRaw(parsed)) {
    findings.add(field, annotation, message)
    return () => 1
  }
  for (const [ip, weight] of Object.entries(parsed)) {
    if (!isWeight(weight)) findings.add(`${field}.${ip}`, weight, message)
  }
  return (ip) => {
    const weight = own(parsed, ip)
    return isWeight(weight) ? weight : 1
  }
}

function isWeight(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= HEAVIEST
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
