import { expect, test } from 'vitest'
import { ProblemEpisodes } from './controller-loop.ts'

test('a problem begins with its first key and ends with its last', () => {
  const episodes = new ProblemEpisodes()
  expect([episodes.begin('x', 'a'), episodes.begin('x', 'b'), episodes.begin('x', 'a')]).toEqual([
    true,
    false,
    false,
  ])
  expect([episodes.end('a'), episodes.end('a'), episodes.end('b')]).toEqual([[], [], ['x']])
  expect(episodes.begin('x', 'a')).toBe(true)
})
