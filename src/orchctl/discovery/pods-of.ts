import { NodeProxyError } from '../../lib/error.ts'
import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
} from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { objectName } from '../output/documents.ts'
import type { CommandContext } from '../session/command-module.ts'
import { listObjects } from '../session/list-pages.ts'
import { collectionPath, objectPath } from './api-resource.ts'
import { type Catalogue, openCatalogue } from './catalogue.ts'
import { selectedObject } from './selected.ts'

/** The Pods that an operand names, and the object that it names: a Pod, or what selects Pods. */
export interface NamedPods {
  /** `pod/web`, `service/web`. */
  readonly name: string
  readonly owner: JsonObject
  /** The Pod itself, or those that the owner selects: ready ones first, then by name. */
  list(): Promise<readonly JsonObject[]>
}

/** Reads `NAME`, `pod/NAME`, or an object that selects Pods: `service/NAME`, `deployment/NAME`. @throws NP_ORCHCTL_NO_PODS */
export async function podsOf(operand: string, context: CommandContext): Promise<NamedPods> {
  const catalogue = await openCatalogue(context)
  const words = operand.includes('/') ? [operand] : ['pods', operand]
  const { resource, name } = await selectedObject(words, catalogue)
  const { api, namespace } = await context.session()
  const read = (): Promise<JsonObject> => api.send({ path: objectPath(resource, namespace, name) })
  const owner = await read()
  if (resource.kind === 'Pod' && resource.group === '') {
    return { name: objectName(owner), owner, list: async () => [await read()] }
  }
  const selector = selectorOf(owner)
  if (selector === undefined) {
    throw new NodeProxyError('NP_ORCHCTL_NO_PODS', `${quote(operand)} selects no Pods by labels`, {
      hint: 'name a Pod, or an object with a selector',
    })
  }
  return {
    name: objectName(owner),
    owner,
    list: () => podsBySelector(selector, catalogue, context),
  }
}

/** The Pod that words name: `NAME`, `pod/NAME` or `pod NAME`. `refused`: the error for an object of another kind. */
export async function podOf(
  words: readonly string[],
  context: CommandContext,
  refused: (kind: string) => NodeProxyError,
): Promise<JsonObject> {
  const isName = words.length === 1 && words[0]?.includes('/') === false
  const named = isName ? ['pods', ...words] : words
  const { resource, name } = await selectedObject(named, await openCatalogue(context))
  if (resource.kind !== 'Pod' || resource.group !== '') throw refused(resource.kind)
  const { api, namespace } = await context.session()
  return api.send({ path: objectPath(resource, namespace, name) })
}

/** The Pods of the namespace that a selector matches: ready ones first, then by name. */
export async function podsBySelector(
  labelSelector: string,
  catalogue: Catalogue,
  context: CommandContext,
): Promise<readonly JsonObject[]> {
  const { api, namespace } = await context.session()
  const path = collectionPath(await catalogue.named('pods'), namespace)
  const pods = await listObjects(api, { path, query: { labelSelector } })
  const nameOf = (pod: JsonObject): string => stringAt(pod, 'metadata', 'name')
  return pods.toSorted(
    (a, b) => Number(isReady(b)) - Number(isReady(a)) || (nameOf(a) < nameOf(b) ? -1 : 1),
  )
}

/** The path of a Pod. */
export async function podPath(pod: JsonObject, context: CommandContext): Promise<string> {
  const resource = await (await openCatalogue(context)).named('pods')
  const [namespace, name] = ['namespace', 'name'].map((field) => stringAt(pod, 'metadata', field))
  return objectPath(resource, namespace, name ?? '')
}

/** Whether connections may be sent to a Pod. */
export function isReady(pod: JsonObject): boolean {
  const conditions = arrayAt(pod, 'status', 'conditions')
  return (
    stringAt(pod, 'metadata', 'deletionTimestamp') === '' &&
    conditions.some(
      (one) => stringAt(one, 'type') === 'Ready' && stringAt(one, 'status') === 'True',
    )
  )
}

/** `spec.selector`: labels of a Service, a label selector of a workload; undefined: it selects nothing. */
function selectorOf(owner: JsonObject): string | undefined {
  const selector = objectAt(owner, 'spec', 'selector')
  const { matchLabels, matchExpressions } = selector
  const isOfWorkload = isJsonObject(matchLabels) || Array.isArray(matchExpressions)
  return selectorText(isOfWorkload ? selector : { matchLabels: selector }) || undefined
}

/** A label selector as requests and kubectl write it, `a=b,c in (d,e),!f`; empty: it has no requirement. */
export function selectorText(selector: JsonObject): string {
  const labels = Object.entries(objectAt(selector, 'matchLabels')).map(
    ([key, value]) => `${key}=${scalarText(value)}`,
  )
  const expressions = arrayAt(selector, 'matchExpressions').map((one) => {
    const key = stringAt(one, 'key')
    const values = `(${arrayAt(one, 'values').map(scalarText).join(',')})`
    const operator = stringAt(one, 'operator')
    if (operator === 'Exists') return key
    if (operator === 'DoesNotExist') return `!${key}`
    return `${key} ${operator === 'In' ? 'in' : 'notin'} ${values}`
  })
  return [...labels.toSorted(), ...expressions].join(',')
}

/** The annotation that names the default container, as for kubectl. */
const DEFAULT_CONTAINER = 'kubectl.kubernetes.io/default-container'

/** The names of all containers of a Pod: init, regular and ephemeral ones. */
export function containersOf(pod: JsonObject): readonly string[] {
  return ['initContainers', 'containers', 'ephemeralContainers'].flatMap((list) =>
    arrayAt(pod, 'spec', list).map((one) => stringAt(one, 'name')),
  )
}

/** The container that is meant where none is named: that of the annotation, else the first regular one. */
export function defaultContainer(pod: JsonObject): string {
  const annotated = stringAt(pod, 'metadata', 'annotations', DEFAULT_CONTAINER)
  if (containersOf(pod).includes(annotated)) return annotated
  return stringAt(arrayAt(pod, 'spec', 'containers')[0], 'name')
}
