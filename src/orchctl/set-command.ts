import type { Command } from 'commander'
import { NodeProxyError } from '../lib/error.ts'
import { arrayAt, type JsonObject, mergePatch, objectAt, stringAt, valueAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import { objectPath } from './discovery/api-resource.ts'
import { openCatalogue } from './discovery/catalogue.ts'
import { selectedBy } from './discovery/selected.ts'
import { objectName } from './output/documents.ts'
import { oneLine } from './output/terminal-text.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { usageError } from './usage/exit-code.ts'
import { addWriteFlags, showWritten, type WriteFlags, writeQuery } from './writing/write-flags.ts'

/** Where a Pod has its spec, and where an object that makes Pods has theirs. */
const OF_POD = ['spec']
const OF_TEMPLATE = ['spec', 'template', 'spec']
/** The lists of containers in such a spec. */
const LISTS = ['initContainers', 'containers'] as const

/** `orchctl set`. */
export function define(command: Command, context: CommandContext): void {
  const image = command
    .command('image')
    .description('Change the images of containers, which rolls out new Pods.')
    .argument('[operands...]', 'TYPE NAME or TYPE/NAME ..., then CONTAINER=IMAGE ...; *=IMAGE: all')
  runs(addWriteFlags(image), context, setImage)
}

const setImage: Run<WriteFlags> = async (args, flags, context) => {
  const first = args.findIndex((arg) => arg.includes('='))
  if (first < 0) throw usageError('an image is missing', 'write CONTAINER=IMAGE')
  const images = new Map(args.slice(first).map(imageOf))
  const selected = await selectedBy(args.slice(0, first), await openCatalogue(context))
  const { api, namespace } = await context.session()
  for (const { resource, name } of selected) {
    if (name === undefined) throw usageError('no object is named', 'write TYPE NAME')
    const path = objectPath(resource, namespace, name)
    const before = await api.send({ path })
    const body = imagePatch(before, images)
    const written =
      flags.dryRun === 'client'
        ? withImages(before, body)
        : await api.send({
            method: 'PATCH',
            path,
            contentType: 'application/strategic-merge-patch+json',
            body,
            query: writeQuery(flags),
          })
    await showWritten(written, 'image updated', flags, context)
  }
  return 0
}

/** @throws NP_ORCHCTL_USAGE */
function imageOf(arg: string): readonly [container: string, image: string] {
  const at = arg.indexOf('=')
  if (at > 0 && at < arg.length - 1) return [arg.slice(0, at), arg.slice(at + 1)]
  throw usageError(`${quote(arg)} names no image`, 'write CONTAINER=IMAGE')
}

/**
 * A strategic merge patch that gives containers other images. @throws NP_ORCHCTL_PRECONDITION where a named container is
 * not there
 */
export function imagePatch(object: JsonObject, images: ReadonlyMap<string, string>): JsonObject {
  const isPod = stringAt(object, 'kind') === 'Pod'
  const spec = valueAt(object, ...(isPod ? OF_POD : OF_TEMPLATE))
  const named = new Set<string>()
  const lists = LISTS.flatMap((list) => {
    const changed = arrayAt(spec, list).flatMap((container) => {
      const name = stringAt(container, 'name')
      named.add(name)
      const image = images.get(name) ?? images.get('*')
      return image === undefined ? [] : [{ name, image }]
    })
    return changed.length === 0 ? [] : [[list, changed] as const]
  })
  const missing = [...images.keys()].find((name) => name !== '*' && !named.has(name))
  if (missing !== undefined || lists.length === 0) {
    const message = `${oneLine(objectName(object))} has no container ${quote(missing ?? '*')}`
    const hint = named.size === 0 ? 'name what has containers' : `it has ${[...named].join(', ')}`
    throw new NodeProxyError('NP_ORCHCTL_PRECONDITION', message, { hint })
  }
  const patch = Object.fromEntries(lists)
  return { spec: isPod ? patch : { template: { spec: patch } } }
}

/** The object as the patch changes it. */
function withImages(object: JsonObject, patch: JsonObject): JsonObject {
  const path = valueAt(patch, ...OF_TEMPLATE) === undefined ? OF_POD : OF_TEMPLATE
  const lists = Object.entries(objectAt(patch, ...path)).map(([list, changed]) => {
    const containers = arrayAt(object, ...path, list).map((container) => {
      const own = arrayAt({ changed }, 'changed').find(
        (one) => stringAt(one, 'name') === stringAt(container, 'name'),
      )
      return own === undefined ? container : mergePatch(container, own)
    })
    return [list, containers] as const
  })
  const spec = path
    .toReversed()
    .reduce<JsonObject>((inner, key) => ({ [key]: inner }), Object.fromEntries(lists))
  return mergePatch(object, spec) as JsonObject
}
