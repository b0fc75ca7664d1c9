import { expect, test } from 'vitest'
import { shapeFaults } from './shown-output.ts'

test.each([
  ['the same', 'a\nb\n', 'a\nb\n'],
  ['other numbers and columns', 'a  10 ms 1.2.3.4:80', 'a 7.25 ms 10.0.0.2:8080'],
  ['a made-up name', 'web-x7k2p gets it', 'web-pxqgw gets it'],
  ['lines left out between', 'a\n…\nd', 'a\nb\nc\nd'],
  ['lines left out at the end', 'a\n…', 'a\nb\nc'],
  ['lines left out twice', 'a\n…\nc\n…\ne', 'a\nb\nc\nd\ne'],
])('%s', (_what, shown, printed) => {
  expect(shapeFaults(shown, printed)).toEqual([])
})

test.each([
  ['another word', 'a\nb', 'a\nc', 'not printed: b'],
  ['a line too few', 'a\nb', 'a', 'not printed: b'],
  ['a line too many', 'a', 'a\nb', 'not shown: b'],
  ['lines in another order', 'a\n…\nc\n…\nb\n…', 'a\nb\nc', 'not printed: b'],
  ['another end', 'a\n…\nd', 'a\nb\nc', 'not printed: d'],
])('%s is a fault', (_what, shown, printed, fault) => {
  expect(shapeFaults(shown, printed)[0]).toBe(fault)
})
