import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../lib/json.ts'
import type { CommandContext } from './command/command-module.ts'
import { type ApiResource, collectionPath, objectPath } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { objectsOf } from './reading/list-pages.ts'

/** The most names that are offered; shells do not show more of them well. */
const MAX_NAMES = 500

/** The names in paths of the resources that can be listed and that `isIncluded` accepts. */
export async function typeNames(
  context: CommandContext,
  isIncluded: (resource: ApiResource) => boolean = () => true,
): Promise<readonly string[]> {
  const all = await (await openCatalogue(context)).all()
  const listable = all.filter((one) => one.verbs.includes('list') && isIncluded(one))
  return [...new Set(listable.map(({ plural }) => plural))]
}

/** The names of the objects of a type, in the namespace of the command line. */
export async function objectNames(
  type: string,
  context: CommandContext,
): Promise<readonly string[]> {
  const resource = await (await openCatalogue(context)).named(type)
  const { api, namespace } = await context.session()
  const call = { path: collectionPath(resource, namespace), query: { limit: String(MAX_NAMES) } }
  const answer = await api.request(call)
  if (!answer.ok) return []
  return objectsOf(answer.value.body).map((object) => stringAt(object, 'metadata', 'name'))
}

/** The ports of `TYPE/NAME`, or of a Pod: those of a Service, or of the containers of a Pod or its template. */
export async function portNumbers(
  operand: string,
  context: CommandContext,
): Promise<readonly string[]> {
  const [first = '', second] = operand.split('/')
  const [type, name] = second === undefined ? ['pods', first] : [first, second]
  const resource = await (await openCatalogue(context)).named(type)
  const { api, namespace } = await context.session()
  const answer = await api.request({ path: objectPath(resource, namespace, name) })
  return answer.ok ? portsOf(answer.value.body) : []
}

function portsOf(object: JsonObject): readonly string[] {
  const template = valueAt(object, 'spec', 'template') ?? object
  const containers = arrayAt(template, 'spec', 'containers')
  return [
    ...arrayAt(object, 'spec', 'ports').map((port) => scalarText(valueAt(port, 'port'))),
    ...containers.flatMap((one) =>
      arrayAt(one, 'ports').map((port) => scalarText(valueAt(port, 'containerPort'))),
    ),
  ]
}
