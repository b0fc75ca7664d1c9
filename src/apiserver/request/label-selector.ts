import { isLabelValue, isQualifiedName } from '../../resources/names.ts'
import { badRequest, StatusError } from '../status/status.ts'

export type Labels = Readonly<Record<string, string>>

export type LabelSelector = (labels: Labels) => boolean

/** Longer selectors are refused before they are parsed. */
const MAX_LENGTH = 16 * 1024

const SET = /^([^\s!=<>(),]+)\s+(in|notin)\s*\(([^()]*)\)$/
const COMPARISON = /^([^\s!=<>(),]+)\s*(==|!=|=)\s*([^\s!=<>(),]*)$/
const ORDER = /^([^\s!=<>(),]+)\s*([<>])\s*([^\s!=<>(),]+)$/
const EXISTENCE = /^(!?)\s*([^\s!=<>(),]+)$/

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1,m<2`; undefined matches everything. */
export function parseLabelSelector(text: string): LabelSelector | undefined | StatusError {
  if (text.trim() === '') return undefined
  if (text.length > MAX_LENGTH) return unparsable(`${text.slice(0, 40)}…`, 'it is too long')
  const requirements: LabelSelector[] = []
  for (const part of splitOutsideParentheses(text)) {
    const requirement = parseRequirement(part.trim())
    if (requirement instanceof StatusError) return requirement
    requirements.push(requirement)
  }
  return (labels) => requirements.every((requirement) => requirement(labels))
}

function parseRequirement(text: string): LabelSelector | StatusError {
  const set = SET.exec(text)
  if (set !== null) return setRequirement(text, set[1]!, set[2] === 'in', set[3]!)
  const comparison = COMPARISON.exec(text)
  if (comparison !== null)
    return setRequirement(text, comparison[1]!, comparison[2] !== '!=', comparison[3]!)
  const order = ORDER.exec(text)
  if (order !== null) return orderRequirement(text, order[1]!, order[2] === '>', order[3]!)
  const existence = EXISTENCE.exec(text)
  if (existence === null)
    return unparsable(text, 'expected key, !key, key=value, key>1 or key in (values)')
  const key = existence[2]!
  if (!isQualifiedName(key)) return unparsable(text, `${JSON.stringify(key)} is not a label key`)
  const wanted = existence[1] === ''
  return (labels) => Object.hasOwn(labels, key) === wanted
}

/** A requirement with `>` or `<`. Only labels that are 64-bit integers can match. */
function orderRequirement(
  text: string,
  key: string,
  isMore: boolean,
  bound: string,
): LabelSelector | StatusError {
  if (!isQualifiedName(key)) return unparsable(text, `${JSON.stringify(key)} is not a label key`)
  const limit = wholeNumber(bound)
  if (limit === undefined) {
    return unparsable(text, `${JSON.stringify(bound)} is not a whole number of 64 bits`)
  }
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? wholeNumber(labels[key]!) : undefined
    return value !== undefined && (isMore ? value > limit : value < limit)
  }
}

/** Parses a whole number. Label values cannot have a sign, so there are no negative numbers. */
function wholeNumber(text: string): bigint | undefined {
  if (!/^\d{1,63}$/.test(text)) return undefined
  const value = BigInt(text)
  return value < 2n ** 63n ? value : undefined
}

/**
 * A requirement with a set of values; `=` is `in` with one value, and `!=` is `notin`. An absent key is not in
 * any set.
 */
function setRequirement(
  text: string,
  key: string,
  isIn: boolean,
  list: string,
): LabelSelector | StatusError {
  if (!isQualifiedName(key)) return unparsable(text, `${JSON.stringify(key)} is not a label key`)
  const values = new Set(list.split(',').map((value) => value.trim()))
  for (const value of values) {
    if (!isLabelValue(value))
      return unparsable(text, `${JSON.stringify(value)} is not a label value`)
  }
  return (labels) => (Object.hasOwn(labels, key) && values.has(labels[key]!)) === isIn
}

function splitOutsideParentheses(text: string): readonly string[] {
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '(') depth++
    else if (character === ')') depth--
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(start, index))
      start = index + 1
    }
  }
  return [...parts, text.slice(start)]
}

function unparsable(text: string, why: string): StatusError {
  return badRequest(`unable to parse requirement ${JSON.stringify(text)} of labelSelector: ${why}`)
}
