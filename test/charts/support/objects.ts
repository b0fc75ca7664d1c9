import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { root } from '../../support/on-demand/root.ts'
import { projectText } from './chart-files.ts'

/** An object of the API, as a manifest has it. */
export interface ApiObject {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly [field: string]: unknown
  }
  readonly [field: string]: unknown
}

/** Objects by kind and name: `DaemonSet node-proxy`. */
export type Objects = Readonly<Record<string, ApiObject>>

/** The objects of a text with several documents. @throws Error if one occurs twice */
export function objectsIn(text: string): Objects {
  const objects: Record<string, ApiObject> = {}
  for (const document of parseAllDocuments(text)) {
    const object = document.toJS() as ApiObject | null
    if (object === null) continue
    const name = `${object.kind} ${object.metadata.name}`
    if (objects[name] !== undefined) throw new Error(`two objects are ${name}`)
    objects[name] = object
  }
  return objects
}

/** The objects of `config/kubernetes/FOLDER`. */
export function manifestsIn(folder: string): Objects {
  const files = readdirSync(join(root, 'config/kubernetes', folder)).filter((file) =>
    file.endsWith('.yaml'),
  )
  const texts = files.map((file) => projectText(`config/kubernetes/${folder}/${file}`))
  return objectsIn(texts.join('\n---\n'))
}

/** The labels that helm's own objects have beside those of the manifests. */
const RELEASE_LABELS: ReadonlySet<string> = new Set([
  'app.kubernetes.io/instance',
  'app.kubernetes.io/version',
  'app.kubernetes.io/managed-by',
  'helm.sh/chart',
])

/** In Pods, what a change of the configuration replaces them by. */
const CONFIGURATION = 'orch.io/configuration'

/**
 * Objects in the form in which a chart and the manifests are compared: without the labels of a release, and with
 * configuration files as what they say, because comments and the order of fields mean nothing.
 */
export function comparable(objects: Objects): Objects {
  return Object.fromEntries(
    Object.entries(objects).map(([name, object]) => [name, withFiles(withoutRelease(object))]),
  )
}

function withoutRelease(object: ApiObject): ApiObject {
  const copy = structuredClone(object) as unknown as Editable
  for (const label of RELEASE_LABELS) delete copy.metadata.labels?.[label]
  removeIfEmpty(copy.metadata, 'labels')
  const template = copy.spec?.template?.metadata
  if (template !== undefined) {
    delete template.annotations?.[CONFIGURATION]
    removeIfEmpty(template, 'annotations')
  }
  return copy as unknown as ApiObject
}

function removeIfEmpty(holder: Metadata, key: 'labels' | 'annotations'): void {
  if (Object.keys(holder[key] ?? {}).length === 0) delete holder[key]
}

interface Metadata {
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

interface Editable {
  readonly metadata: Metadata
  readonly spec?: { readonly template?: { readonly metadata: Metadata } }
}

function withFiles(object: ApiObject): ApiObject {
  if (object.kind !== 'ConfigMap') return object
  const files = Object.entries(object['data'] as Readonly<Record<string, string>>)
  return { ...object, data: Object.fromEntries(files.map(([name, text]) => [name, parse(text)])) }
}
