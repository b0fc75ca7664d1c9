import type { Family } from '../../../lib/ip.ts'
import { attributeText, findAttribute } from '../../netlink/attribute.ts'
import type { NetlinkMessage } from '../../netlink/message.ts'
import { NFGENMSG } from '../../netlink/nfnetlink.ts'
import type { ChainSpec, Rule } from '../objects.ts'
import { CHAIN, HOOK, RULE } from './attributes.ts'
import { hookName, POLICY } from './commands.ts'
import { readExpressions } from './read-expression.ts'
import { commentOf } from './user-data.ts'

/** The attributes of a message: a view. */
export function attributesOf({ payload }: NetlinkMessage): Buffer {
  return payload.subarray(NFGENMSG)
}

/** A chain of NFT_MSG_NEWCHAIN; undefined if it has no name. */
export function readChain(
  attributes: Buffer,
): { readonly table: string; readonly name: string; readonly spec: ChainSpec } | undefined {
  const [table, name] = [CHAIN.table, CHAIN.name].map((type) => findAttribute(attributes, type))
  if (!table || !name) return undefined
  return { table: attributeText(table), name: attributeText(name), spec: readHook(attributes) }
}

function readHook(attributes: Buffer): ChainSpec {
  const nested = findAttribute(attributes, CHAIN.hook)
  const type = findAttribute(attributes, CHAIN.type)
  if (!nested || !type) return {}
  const hook = hookName(findAttribute(nested, HOOK.number)?.readUInt32BE(0) ?? -1)
  const priority = findAttribute(nested, HOOK.priority)?.readInt32BE(0) ?? 0
  const name = attributeText(type)
  if (hook === undefined || (name !== 'nat' && name !== 'filter')) return {}
  const dropsByDefault = findAttribute(attributes, CHAIN.policy)?.readUInt32BE(0) === POLICY.drop
  return { hook: { type: name, hook, priority, ...(dropsByDefault && { dropsByDefault }) } }
}

/** A rule of NFT_MSG_NEWRULE with its chain; undefined if it names no chain. */
export function readRule(
  attributes: Buffer,
  family: Family,
): { readonly chain: string; readonly rule: Rule } | undefined {
  const chain = findAttribute(attributes, RULE.chain)
  if (!chain) return undefined
  const list = findAttribute(attributes, RULE.expressions) ?? Buffer.alloc(0)
  const comment = commentOf(findAttribute(attributes, RULE.userData))
  const expressions = readExpressions(list, family)
  return {
    chain: attributeText(chain),
    rule: { expressions, ...(comment === undefined ? {} : { comment }) },
  }
}
