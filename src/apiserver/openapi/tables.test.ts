import { expect, test } from 'vitest'
import { fieldsOf, jsonFormOf } from '../schema/schema.ts'
import { ENUMS, REQUIRED } from './constraints.ts'
import descriptions from './descriptions.json' with { type: 'json' }

const knows = (message: string, field: string): boolean => fieldsOf(message)?.has(field) === true

test('descriptions are of messages and fields that there are, one sentence each', () => {
  const rows = Object.entries(descriptions).flatMap(([message, fields]) =>
    Object.entries(fields).map(([field, text]) => [message, field, text] as const),
  )
  const strays = rows.filter(
    ([message, field]) =>
      !(field === ''
        ? fieldsOf(message) !== undefined || jsonFormOf(message)
        : knows(message, field)),
  )
  expect(strays).toEqual([])
  expect(rows.filter(([, , text]) => !/^[A-Z][^\n]*[.]$/.test(text))).toEqual([])
})

test('constraints are of fields that there are', () => {
  const required = Object.entries(REQUIRED).flatMap(([message, fields]) =>
    fields.map((field) => [message, field] as const),
  )
  const enums = Object.keys(ENUMS).map((name) => {
    const dot = name.lastIndexOf('.')
    return [name.slice(0, dot), name.slice(dot + 1)] as const
  })
  expect([...required, ...enums].filter(([message, field]) => !knows(message, field))).toEqual([])
})
