import type { Reader } from '../../../../resources/reader.ts'
import { checkField, checkName } from '../checks.ts'
import { checkDataKey } from './data-key.ts'

const NAME_FAULT = 'must be the name of a variable: printable ASCII characters without ='
const VARIABLE_SOURCES = [
  'fieldRef',
  'resourceFieldRef',
  'configMapKeyRef',
  'secretKeyRef',
  'fileKeyRef',
]
const ALL_SOURCES = ['configMapRef', 'secretRef']

/** The variables of a container, and what they are taken from. */
export function checkEnvironment(container: Reader): void {
  for (const variable of container.objects('env')) {
    if (!isVariableName(variable.value('name'))) variable.refuse('name', NAME_FAULT)
    const text = variable.text('value') ?? ''
    if (variable.value('valueFrom') === undefined) continue
    if (text !== '') variable.withhold('value', 'must be absent beside `valueFrom`')
    checkSource(variable.object('valueFrom'))
  }
  for (const all of container.objects('envFrom')) {
    checkField(all, 'prefix', isVariableName, NAME_FAULT)
    for (const key of oneOf(all, ALL_SOURCES)) checkReference(all.object(key))
  }
}

function checkSource(source: Reader): void {
  for (const key of oneOf(source, VARIABLE_SOURCES)) {
    const reference = source.object(key)
    if (key !== 'configMapKeyRef' && key !== 'secretKeyRef') continue
    checkReference(reference)
    checkDataKey(reference)
  }
}

function checkReference(reference: Reader): void {
  checkName(reference, 'subdomain')
  reference.flag('optional')
}

/** The sources that are present, of which there must be exactly one. */
function oneOf(object: Reader, sources: readonly string[]): readonly string[] {
  const present = sources.filter((key) => object.value(key) !== undefined)
  const [, ...others] = present
  for (const key of others) object.withhold(key, 'must be the only source')
  if (present.length === 0)
    object.refuse(sources.at(-1)!, `or another source must be given: ${sources.join(', ')}`)
  return present
}

/** What Kubernetes accepts since 1.30: a process takes any of these. */
function isVariableName(name: unknown): boolean {
  return typeof name === 'string' && /^[\x20-\x3c\x3e-\x7e]+$/.test(name)
}
