import type { Family } from '../../lib/ip.ts'
import { attributeText, findAttribute } from '../netlink/attribute.ts'
import { AttributeWriter } from '../netlink/attribute-writer.ts'
import type { NetlinkMessage, OutgoingMessage } from '../netlink/message.ts'
import { NFGENMSG, NFT_MSG, nfHeader, nfMessageType } from '../netlink/nfnetlink.ts'
import { CHAIN, ELEMENTS, HOOK, RULE, SET, TABLE, TABLE_FLAG } from './attributes.ts'
import { type ElementForm, readCounter, writeElement } from './element-codec.ts'
import type {
  ChainSpec,
  Command,
  Element,
  Hook,
  Rule,
  SetSpec,
  Table,
  TableSpec,
} from './objects.ts'
import { eachAttribute, readExpressions } from './read-expression.ts'
import { writeSet } from './set-codec.ts'
import { commentOf, lengthOf, ruleUserData } from './user-data.ts'
import { writeExpression } from './write-expression.ts'

/** Message flags of linux/netlink.h: create an object that does not exist; append. */
const NLM_F_CREATE = 0x400
const NLM_F_APPEND = 0x800

/** Gives each new set a number that is unique within its transaction (NFTA_SET_ID). */
export interface Numbering {
  /** The number of the next set. */
  next: number
}

/** Encodes one command: as one message, or as several if it has many elements. `specOf` returns the known sets. */
export function encodeCommand(
  command: Command,
  numbering: Numbering,
  specOf: (table: Table, set: string) => SetSpec | undefined,
): readonly OutgoingMessage[] {
  const { family, name: table } = command.table
  const to = writer(family)
  switch (command.do) {
    case 'addTable':
      to.text(TABLE.name, table).be32(TABLE.flags, tableFlags(command.spec))
      return [message('newTable', to, NLM_F_CREATE)]
    case 'deleteTable':
      to.text(TABLE.name, table)
      return [message('deleteTable', to)]
    case 'addChain':
      to.text(CHAIN.table, table).text(CHAIN.name, command.chain)
      if (command.spec?.hook) writeHook(to, command.spec.hook)
      return [message('newChain', to, NLM_F_CREATE)]
    case 'deleteChain':
      to.text(CHAIN.table, table).text(CHAIN.name, command.chain)
      return [message('deleteChain', to)]
    case 'addRule': {
      const { expressions, comment } = command.rule
      to.text(RULE.table, table).text(RULE.chain, command.chain)
      to.nest(RULE.expressions, () => {
        for (const expression of expressions) writeExpression(to, expression, family)
      })
      if (comment !== undefined) to.bytes(RULE.userData, ruleUserData(comment))
      return [message('newRule', to, NLM_F_CREATE | NLM_F_APPEND)]
    }
    case 'flushChain':
      to.text(RULE.table, table).text(RULE.chain, command.chain)
      return [message('deleteRule', to)]
    case 'addSet':
      to.text(SET.table, table).text(SET.name, command.set)
      writeSet(to, command.spec, numbering.next++)
      return [message('newSet', to, NLM_F_CREATE)]
    case 'deleteSet':
      to.text(SET.table, table).text(SET.name, command.set)
      return [message('deleteSet', to)]
    case 'addElements':
    case 'deleteElements': {
      const form = formOf(specOf(command.table, command.set), command.elements[0])
      const type = command.do === 'addElements' ? 'newSetElement' : 'deleteSetElement'
      return elementMessages(type, command, command.elements, form)
    }
  }
}

function tableFlags({ isOwned, isPersistent }: TableSpec = {}): number {
  return (isOwned ? TABLE_FLAG.owner : 0) | (isPersistent ? TABLE_FLAG.persist : 0)
}

/** A list of elements is one attribute, which holds at most 65,535 bytes. One element takes fewer than 400 bytes. */
const MAX_LIST_BYTES = 64_000

/** Encodes elements, in as many messages as necessary. */
export function elementMessages(
  type: 'newSetElement' | 'deleteSetElement' | 'getSetElement',
  { table, set }: { readonly table: Table; readonly set: string },
  elements: readonly Element[],
  form: ElementForm,
): readonly OutgoingMessage[] {
  const flags = type === 'newSetElement' ? NLM_F_CREATE : 0
  const messages: OutgoingMessage[] = []
  for (let at = 0; at < elements.length; ) {
    const to = writer(table.family)
    to.text(ELEMENTS.table, table.name).text(ELEMENTS.set, set)
    const opened = to.open(ELEMENTS.list)
    const start = to.length
    while (at < elements.length && to.length - start < MAX_LIST_BYTES) {
      writeElement(to, elements[at++]!, form)
    }
    to.close(opened)
    messages.push(message(type, to, flags))
  }
  return messages
}

/**
 * How the elements of a set are written. If the set is not known, this follows from the first element: its key and data
 * are written with all their bytes.
 */
export function formOf(spec: SetSpec | undefined, element: Element | undefined): ElementForm {
  if (spec === undefined) {
    const dataLength = Buffer.isBuffer(element?.data) ? element.data.length : 0
    return { keyLength: element?.key.length ?? 0, dataLength, endsRanges: false }
  }
  const { key, data, isInterval } = spec
  const dataLength = data === undefined || data === 'verdict' ? 0 : lengthOf(data)
  return {
    keyLength: lengthOf(key),
    dataLength,
    endsRanges: isInterval === true && key.length === 1,
  }
}

/** A writer for the attributes of one message, after its `struct nfgenmsg`. */
export function writer(family: Family): AttributeWriter {
  return new AttributeWriter().header(...nfHeader(family))
}

/** The nf_tables message with these attributes. */
export function message(
  type: keyof typeof NFT_MSG,
  to: AttributeWriter,
  flags = 0,
): OutgoingMessage {
  return { type: nfMessageType('nftables', NFT_MSG[type]), flags, payload: to.written() }
}

/** Values of NFTA_CHAIN_POLICY (NF_DROP, NF_ACCEPT): what happens to packets that no rule of a base chain decides. */
const POLICY = { drop: 0, accept: 1 } as const

/** enum nf_inet_hooks. */
const HOOKS: Readonly<Record<Hook['hook'], number>> = {
  prerouting: 0,
  input: 1,
  forward: 2,
  output: 3,
  postrouting: 4,
}

function writeHook(to: AttributeWriter, { type, hook, priority, dropsByDefault }: Hook): void {
  to.nest(CHAIN.hook, () => to.be32(HOOK.number, HOOKS[hook]).be32(HOOK.priority, priority))
  to.be32(CHAIN.policy, dropsByDefault ? POLICY.drop : POLICY.accept).text(CHAIN.type, type)
}

/** The name of a number of enum nf_inet_hooks. */
function hookName(number: number): Hook['hook'] | undefined {
  return (Object.keys(HOOKS) as Hook['hook'][]).find((name) => HOOKS[name] === number)
}

/** The attributes of a message, after its `struct nfgenmsg`. A view of the payload. */
export function attributesOf({ payload }: NetlinkMessage): Buffer {
  return payload.subarray(NFGENMSG)
}

/** Reads a chain from the attributes of NFT_MSG_NEWCHAIN; undefined if they name no table or chain. */
export function readChain(
  attributes: Buffer,
): { readonly table: string; readonly name: string; readonly spec: ChainSpec } | undefined {
  const [table, name] = [CHAIN.table, CHAIN.name].map((type) => findAttribute(attributes, type))
  if (!table || !name) return undefined
  return { table: attributeText(table), name: attributeText(name), spec: readHook(attributes) }
}

/**
 * The inverse of `writeHook`. Empty for a chain without a hook, or with a hook or type that this code does not write.
 */
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

/** The packets that the counters of a rule have counted; undefined if it has none. */
export function readPackets(attributes: Buffer): bigint | undefined {
  let packets: bigint | undefined
  eachAttribute(findAttribute(attributes, RULE.expressions) ?? Buffer.alloc(0), (_, expression) => {
    const counter = readCounter(expression)
    if (counter) packets = (packets ?? 0n) + counter.packets
  })
  return packets
}

/** Reads a rule and the name of its chain from the attributes of NFT_MSG_NEWRULE; undefined if they name no chain. */
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
