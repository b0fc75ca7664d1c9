import { quote } from '../../lib/quote.ts'
import { usageError } from '../command/exit-code.ts'
import type { ApiResource } from './api-resource.ts'
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
