import type { Json } from '../../lib/json.ts'
import { jsonFormOf } from '../schema/json-form.ts'
import { mustBe } from './must-be.ts'
import { isQuantityText } from './quantity-text.ts'
import { isMicroTimeText, isTimeText } from './time-text.ts'

const INT32 = 'an integer of 32 bits'
const INT64 = 'an integer of 64 bits'
const QUANTITY = 'a quantity such as "500m" or "1Gi"'
const TIME = 'a time such as "2006-01-02T15:04:05Z"'
const MICRO_TIME = 'a time such as "2006-01-02T15:04:05.000000Z"'

/**
 * Why a value is none of a type, which is a scalar or a message with a JSON
 * form; undefined when it is one.
 */
export function valueFault(type: string, value: Json): string | undefined {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? undefined : mustBe('a string', value)
    case 'bytes':
      return typeof value === 'string' ? undefined : mustBe('a base64 string', value)
    case 'bool':
      return typeof value === 'boolean' ? undefined : mustBe('a boolean', value)
    case 'int32':
      return isInt32(value) ? undefined : mustBe(INT32, value, 'number')
    case 'int64':
      return isInt64(value) ? undefined : mustBe(INT64, value, 'number')
    default:
      return formFault(type, value)
  }
}

function formFault(type: string, value: Json): string | undefined {
  switch (jsonFormOf(type)) {
    case 'time':
      return isTimeText(value) ? undefined : mustBe(TIME, value, 'string')
    case 'micro-time':
      return isMicroTimeText(value) ? undefined : mustBe(MICRO_TIME, value, 'string')
    case 'int-or-string':
      if (typeof value === 'string' || isInt32(value)) return undefined
      return mustBe(`a string or ${INT32}`, value, 'number')
    case 'quantity':
      if (typeof value === 'number' || isQuantityText(value)) return undefined
      return mustBe(QUANTITY, value, 'string')
    case 'strings':
      return isStrings(value) ? undefined : mustBe('a list of strings', value)
    case 'any':
    case undefined:
      return undefined
  }
}

function isInt32(value: Json): boolean {
  return typeof value === 'number' && value === (value | 0)
}

/** The largest double below 2^63 is still in range when it is written in decimal. */
function isInt64(value: Json): boolean {
  return Number.isInteger(value) && Math.abs(value as number) < 2 ** 63
}

function isStrings(value: Json): boolean {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}
