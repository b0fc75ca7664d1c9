import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../command/command-module.ts'
import type { ApiResource } from '../discovery/api-resource.ts'
import { openCatalogue } from '../discovery/catalogue.ts'

/** The resource of a word. One that the server does not have can be checked, too, because roles may name it. */
export async function resourceOf(
  type: string,
  context: CommandContext,
): Promise<Pick<ApiResource, 'group' | 'plural' | 'namespaced'>> {
  if (type === '*') return { group: '*', plural: '*', namespaced: true }
  const { findResource } = await import('../discovery/find-resource.ts')
  const catalogue = await openCatalogue(context)
  const found = findResource(await catalogue.all(), type)
  if (found === undefined) {
    context.notice(`Warning: the server doesn't have a resource type ${quote(type)}`)
    const [plural = '', ...group] = type.split('.')
    return { group: group.join('.'), plural, namespaced: true }
  }
  if (!found.namespaced) {
    const group = found.group === '' ? '' : ` in group ${quote(found.group)}`
    context.notice(`Warning: resource '${found.plural}' is not namespace scoped${group}`)
  }
  return found
}
