import { expect, test } from 'vitest'
import { parseEnd } from './parse-query.ts'

test.each([
  ['node', { kind: 'node', port: undefined }],
  ['node:30080', { kind: 'node', port: 30_080 }],
  ['10.0.0.1', { kind: 'address', ip: '10.0.0.1', port: undefined }],
  ['10.0.0.1:80', { kind: 'address', ip: '10.0.0.1', port: 80 }],
  ['fd00::1', { kind: 'address', ip: 'fd00::1', port: undefined }],
  ['[fd00::1]', { kind: 'address', ip: 'fd00::1', port: undefined }],
  ['[fd00::1]:443', { kind: 'address', ip: 'fd00::1', port: 443 }],
  ['shop/web', { kind: 'service', service: 'shop/web' }],
  ['shop/web:http', { kind: 'service', service: 'shop/web:http' }],
  ['shop/web:80', { kind: 'service', service: 'shop/web:80' }],
])('%s', (text, end) => {
  expect(parseEnd(text)).toEqual(end)
})

test.each([
  '',
  'web',
  '10.0.0.1:0',
  'node:0',
  '10.0.0.1:65536',
  '10.0.0.256',
  'a/b/c',
  'Shop/Web',
  'a b/c',
  '-x/y',
])('%j is no end of a connection', (text) => {
  expect(parseEnd(text)).toBeUndefined()
})
