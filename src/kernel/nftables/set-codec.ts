import { attributeText, findAttribute, findText } from '../netlink/attribute.ts'
import type { AttributeWriter } from '../netlink/attribute-writer.ts'
import { DESCRIPTION, EXPRESSION, FIELD, LIST_ELEMENT, SET, SET_FLAG } from './attributes.ts'
import type { SetSpec } from './objects.ts'
import {
  fieldBytes,
  lengthOf,
  setComment,
  setUserData,
  typeNumber,
  typesOfNumber,
} from './user-data.ts'

/** NFT_DATA_VERDICT: the type of data that is a verdict. */
const VERDICT_TYPE = 0xffff_ff00

/** Writes the attributes of a set, except its table and name. `id` identifies the set within a transaction. */
export function writeSet(to: AttributeWriter, spec: SetSpec, id: number): void {
  const { key, data, size } = spec
  to.be32(SET.flags, flagsOf(spec))
  to.be32(SET.keyType, typeNumber(key))
  to.be32(SET.keyLength, lengthOf(key))
  if (data === 'verdict') to.be32(SET.dataType, VERDICT_TYPE).be32(SET.dataLength, 0)
  else if (data) to.be32(SET.dataType, typeNumber(data)).be32(SET.dataLength, lengthOf(data))
  to.be32(SET.id, id)
  const needsFields = isConcatenatedInterval(spec)
  if (needsFields || size !== undefined) {
    to.nest(SET.description, () => {
      if (size !== undefined) to.be32(DESCRIPTION.size, size)
      if (needsFields) to.nest(DESCRIPTION.fields, () => writeFields(to, spec))
    })
  }
  to.bytes(SET.userData, setUserData(spec))
  if (spec.hasCounters) to.nest(SET.expression, () => to.text(EXPRESSION.name, 'counter'))
}

/** Reads the name and specification of a set from the attributes of NFT_MSG_NEWSET; undefined if it has no name. */
export function readSet(
  attributes: Buffer,
): { readonly name: string; readonly spec: SetSpec } | undefined {
  const name = findAttribute(attributes, SET.name)
  if (name === undefined) return undefined
  const number = (type: number) => be32(findAttribute(attributes, type))
  const flags = number(SET.flags)
  const isMap = (flags & SET_FLAG.map) !== 0
  const dataType = number(SET.dataType)
  const data = dataType === VERDICT_TYPE ? 'verdict' : typesOfNumber(dataType)
  const description = findAttribute(attributes, SET.description)
  const size = be32(description && findAttribute(description, DESCRIPTION.size))
  const comment = setComment(findAttribute(attributes, SET.userData))
  const has = (flag: keyof typeof SET_FLAG) => (flags & SET_FLAG[flag]) !== 0
  return {
    name: attributeText(name),
    spec: {
      key: typesOfNumber(number(SET.keyType)),
      ...(isMap ? { data } : {}),
      ...(has('interval') ? { isInterval: true } : {}),
      ...(has('dynamic') ? { isDynamic: true } : {}),
      ...(has('timeout') ? { hasTimeouts: true } : {}),
      ...(hasCounter(attributes) ? { hasCounters: true } : {}),
      ...(size > 0 ? { size } : {}),
      ...(comment === undefined ? {} : { comment }),
    },
  }
}

/** Whether the set has ranges of several fields, for which the kernel needs the length of each field. */
function isConcatenatedInterval({ isInterval, key }: SetSpec): boolean {
  return isInterval === true && key.length > 1
}

function flagsOf(spec: SetSpec): number {
  const { data, isInterval, isDynamic, hasTimeouts } = spec
  return (
    (data === undefined ? 0 : SET_FLAG.map) |
    (isInterval ? SET_FLAG.interval : 0) |
    (isConcatenatedInterval(spec) ? SET_FLAG.concatenation : 0) |
    (isDynamic ? SET_FLAG.dynamic : 0) |
    (hasTimeouts ? SET_FLAG.timeout : 0)
  )
}

function writeFields(to: AttributeWriter, { key }: SetSpec): void {
  for (const field of key) {
    to.nest(LIST_ELEMENT, () => to.be32(FIELD.length, fieldBytes(field)))
  }
}

function hasCounter(attributes: Buffer): boolean {
  const expression = findAttribute(attributes, SET.expression)
  return expression !== undefined && findText(expression, EXPRESSION.name) === 'counter'
}

/** The number in an attribute; 0 if there is none. */
function be32(value: Buffer | undefined): number {
  return value?.length === 4 ? value.readUInt32BE(0) : 0
}
