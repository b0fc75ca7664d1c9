import { type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { failureError } from '../session/call-failure.ts'
import type { CommandContext } from '../session/command-module.ts'
import {
  listObjects,
  namespaceOf,
  PAGE_SIZE,
  type ScopeFlags,
  selectorQuery,
} from '../session/list-pages.ts'
import { usageError } from '../usage/exit-code.ts'
import type { ApiResource } from './api-resource.ts'
import { collectionPath, objectPath } from './api-resource.ts'
import type { Catalogue } from './catalogue.ts'

/** What the operands of a command name: an object, or a collection. */
export interface Selected {
  readonly resource: ApiResource
  /** Undefined: the objects of the collection. */
  readonly name: string | undefined
}

/**
 * Reads `TYPE`, `TYPE,TYPE`, `TYPE NAME...` and `TYPE/NAME ...`; a type may be a category.
 * @throws NP_ORCHCTL_USAGE, NP_ORCHCTL_NO_RESOURCE
 */
export async function selectedBy(
  args: readonly string[],
  catalogue: Catalogue,
): Promise<readonly Selected[]> {
  const [types, ...names] = args
  if (types === undefined)
    throw usageError('a resource is missing', 'write TYPE, TYPE NAME or TYPE/NAME')
  if (args.some((arg) => arg.includes('/'))) return Promise.all(args.map(one))
  const words = types.split(',').filter((word) => word !== '')
  const resources = (await Promise.all(words.map((word) => catalogue.several(word)))).flat()
  if (resources.length === 0) throw usageError(`${quote(types)} names no resource`)
  if (names.length === 0) return resources.map((resource) => ({ resource, name: undefined }))
  return resources.flatMap((resource) => names.map((name) => ({ resource, name })))

  async function one(arg: string): Promise<Selected> {
    const [type = '', name = '', ...rest] = arg.split('/')
    if (type === '' || name === '' || rest.length > 0) {
      throw usageError(`${quote(arg)} is not TYPE/NAME`, 'all operands are TYPE/NAME, or none')
    }
    return { resource: await catalogue.named(type), name }
  }
}

/** Exactly one object: `TYPE NAME` or `TYPE/NAME`. @throws NP_ORCHCTL_USAGE, NP_ORCHCTL_NO_RESOURCE */
export async function selectedObject(
  args: readonly string[],
  catalogue: Catalogue,
): Promise<Selected & { readonly name: string }> {
  const [found, ...others] = await selectedBy(args, catalogue)
  if (found?.name === undefined || others.length > 0) {
    throw usageError('name one object', 'write TYPE NAME or TYPE/NAME')
  }
  return { ...found, name: found.name }
}

/** The flags of some commands that change how objects are read. */
interface ReadFlags extends ScopeFlags {
  readonly ignoreNotFound?: boolean
  /** The number of objects per page; 0: all. */
  readonly chunkSize?: string
}

/**
 * Reads the object, or those of the collection that the flags select. Undefined stands for an object that cannot be
 * read, which is reported. @throws NodeProxyError when a collection cannot be read
 */
export async function readSelected(
  { resource, name }: Selected,
  flags: ReadFlags,
  context: CommandContext,
): Promise<readonly (JsonObject | undefined)[]> {
  const session = await context.session()
  if (name === undefined) {
    const path = collectionPath(resource, namespaceOf(session, flags))
    const size = flags.chunkSize === undefined ? PAGE_SIZE : Number(flags.chunkSize)
    return listObjects(session.api, { path, query: selectorQuery(flags) }, size)
  }
  const answer = await session.api.request({ path: objectPath(resource, session.namespace, name) })
  if (answer.ok) return [answer.value.body]
  if (answer.failure.code === 404 && flags.ignoreNotFound === true) return []
  context.report(failureError(answer.failure))
  return [undefined]
}

/** An object that a command changes. */
export interface SelectedPath {
  readonly resource: ApiResource
  readonly name: string
  readonly path: string
}

/** The path of the object, which need not exist, or those of the objects of the collection. @throws NodeProxyError */
export async function selectedPaths(
  selected: Selected,
  flags: ScopeFlags,
  context: CommandContext,
): Promise<readonly SelectedPath[]> {
  const { resource, name } = selected
  const { namespace } = await context.session()
  if (name !== undefined) return [{ resource, name, path: objectPath(resource, namespace, name) }]
  const objects = await readSelected(selected, flags, context)
  return objects.map((object) => {
    const [own = '', inside] = ['name', 'namespace'].map((key) => stringAt(object, 'metadata', key))
    return { resource, name: own, path: objectPath(resource, inside, own) }
  })
}
