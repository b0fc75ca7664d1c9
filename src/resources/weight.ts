import type { IpAddress } from '../lib/ip.ts'
import { readAddress } from './address.ts'
import { firstPresent } from './metadata.ts'
import { NAMES } from './names.ts'
import { isIntegerIn } from './port.ts'
import { isRaw, type Reader } from './reader.ts'

const HEAVIEST = 65_535
const FAULT = `must be an integer from 0 to ${HEAVIEST}, or a JSON object such as {"10.0.0.1": 5}`

/** The relative weight of an endpoint. */
export type WeightOf = (ip: IpAddress) => number

const EVEN: WeightOf = () => 1

/**
 * Weights from the annotation `service.orch.io/weight` of the endpoints object: one integer for all endpoints, or a
 * JSON object from address to integer, in which a missing address has weight 1. Modes that support weights send no new
 * connections to an endpoint of weight 0.
 */
export function readWeights(annotations: Reader): WeightOf {
  const key = firstPresent(annotations, NAMES.weight)
  if (key === undefined) return EVEN
  const weights = parse(annotations.value(key))
  if (isWeight(weights)) return () => weights
  if (isRaw(weights)) return byAddress(weights, annotations, key)
  annotations.refuse(key, FAULT, 'every endpoint has weight 1')
  return EVEN
}

function byAddress(weights: object, annotations: Reader, key: string): WeightOf {
  const known = new Map<string, number>()
  const { findings } = annotations
  const path = annotations.path(key)
  let unusable: string | undefined
  for (const [address, weight] of Object.entries(weights)) {
    const ip = readAddress(address, 'any', (wrong, instead) => {
      if (typeof wrong !== 'string') findings.add(path, address, wrong, instead)
    })
    if (ip === undefined || !isWeight(weight)) unusable ??= address
    else known.set(ip, weight)
  }
  if (unusable !== undefined) {
    findings.add(path, unusable, `${FAULT}; this address or its weight is neither`)
  }
  return (ip) => known.get(ip) ?? 1
}

function isWeight(value: unknown): value is number {
  return isIntegerIn(value, 0, HEAVIEST)
}

function parse(json: unknown): unknown {
  if (typeof json !== 'string') return undefined
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
