import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { isLabel } from '../../resources/names.ts'
import { readFileSource, readFileSources } from './read-file-source.ts'
import type { VolumePlan } from './volume-plan.ts'

const DEFAULT_MODE = 0o644
const MAX_MODE = 0o777
const TYPES = ['projected', 'secret', 'configMap', 'downwardAPI', 'emptyDir']

/**
 * Reads `spec.volumes`. What cannot be made as it is written is added to `faults`: one sentence each, with the path of
 * the field.
 */
export function readVolumes(spec: JsonObject, faults: string[]): readonly VolumePlan[] {
  const names = new Set<string>()
  return arrayAt(spec, 'volumes').flatMap((volume, index) => {
    const at = `spec.volumes[${index}]`
    const name = stringAt(volume, 'name')
    if (!isLabel(name)) faults.push(`${at}.name must be a label, not ${quote(name)}`)
    else if (names.has(name)) faults.push(`${at}.name: ${quote(name)} is another volume's`)
    names.add(name)
    return readVolume(volume, { name, at, faults })
  })
}

interface Reading {
  readonly name: string
  readonly at: string
  readonly faults: string[]
}

function readVolume(volume: Json, { name, at, faults }: Reading): readonly VolumePlan[] {
  const [type, ...others] = typesOf(volume)
  if (type === undefined || !TYPES.includes(type) || others.length > 0) {
    faults.push(unsupported(at, type, others))
    return []
  }
  if (type === 'emptyDir') {
    return [{ kind: 'empty', name, isInMemory: stringAt(volume, type, 'medium') === 'Memory' }]
  }
  const content = valueAt(volume, type)
  const own = readMode(valueAt(content, 'defaultMode'), `${at}.${type}.defaultMode`, faults)
  const shared = { kind: 'files', name, defaultMode: own ?? DEFAULT_MODE } as const
  const source = { at: `${at}.${type}`, faults, readMode }
  if (type === 'projected') return [{ ...shared, sources: readFileSources(content, source) }]
  return [{ ...shared, sources: readFileSource(type, content, source) }]
}

/** Permissions; undefined: none are written, or a fault. */
function readMode(mode: Json | undefined, at: string, faults: string[]): number | undefined {
  if (mode === undefined || mode === null) return undefined
  const isMode = typeof mode === 'number' && Number.isInteger(mode) && mode >= 0 && mode <= MAX_MODE
  if (isMode) return mode
  faults.push(`${at} must be file permissions from 0 to 511 (octal 0777), not ${quote(mode)}`)
  return undefined
}

function typesOf(volume: Json): readonly string[] {
  const fields = valueAt(volume) ?? {}
  return typeof fields === 'object' ? Object.keys(fields).filter((key) => key !== 'name') : []
}

function unsupported(at: string, type: string | undefined, others: readonly string[]): string {
  const known = `use one of ${TYPES.join(', ')}`
  if (type === undefined) return `${at} has no type: ${known}`
  if (others.length > 0) return `${at} has several types: ${known}`
  return `${at}.${type}: this node agent has no volumes of this type; ${known}`
}
