import { arrayAt, type Json, objectAt, stringAt, valueAt } from '../../../../lib/json.ts'
import { quote } from '../../../../lib/quote.ts'

/** One mention of a Secret in a Pod. */
export interface SecretReference {
  /** The Secret; empty: the mention names none, or is malformed. */
  readonly name: string
  /** Where it stands, for people: `container "main" with envFrom referencing secret.secretName="x"`. */
  readonly text: string
}

/** Fields of volume sources that name a Secret, by the path to the name. */
const NAMES_IN_VOLUMES: readonly (readonly [field: string, ...below: string[]])[] = [
  ['secretName'],
  ['secretRef', 'name'],
  ['nodePublishSecretRef', 'name'],
]
const CONTAINERS = [
  ['initContainers', 'init container'],
  ['containers', 'container'],
  ['ephemeralContainers', 'ephemeral container'],
] as const

/** Every Secret whose content a Pod reaches: by volumes of any type, and by variables of any container. */
export function* secretReferences(spec: Json | undefined): Generator<SecretReference> {
  for (const volume of arrayAt(spec, 'volumes')) yield* ofVolume(volume)
  for (const [field, what] of CONTAINERS) {
    for (const container of arrayAt(spec, field)) yield* ofContainer(container, what)
  }
}

function* ofVolume(volume: Json): Generator<SecretReference> {
  for (const [type, source] of Object.entries(objectAt(volume))) {
    for (const [field, ...below] of NAMES_IN_VOLUMES) {
      const found = valueAt(source, field)
      if (found === undefined) continue
      const name = below.length === 0 ? found : valueAt(found, ...below)
      yield reference(`volume with ${type}.`, textOf(name))
    }
  }
  for (const source of arrayAt(volume, 'projected', 'sources')) {
    const secret = valueAt(source, 'secret')
    if (secret === undefined) continue
    yield reference('volume with projected secret.', stringAt(secret, 'name'))
  }
}

function* ofContainer(container: Json, what: string): Generator<SecretReference> {
  const named = `${what} ${quote(stringAt(container, 'name'))}`
  for (const variable of arrayAt(container, 'env')) {
    const source = valueAt(variable, 'valueFrom', 'secretKeyRef')
    if (source === undefined) continue
    const name = quote(stringAt(variable, 'name'))
    yield reference(`${named} with envVar ${name} referencing secret.`, stringAt(source, 'name'))
  }
  for (const all of arrayAt(container, 'envFrom')) {
    const source = valueAt(all, 'secretRef')
    if (source === undefined) continue
    yield reference(`${named} with envFrom referencing secret.`, stringAt(source, 'name'))
  }
}

function reference(before: string, name: string): SecretReference {
  return { name, text: `${before}secretName=${quote(name)}` }
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : ''
}
