import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LineQueue } from './buffered-sink.ts'

test('lines leave in their order, never more than the bounds of queue and batch', () => {
  const step = fc.oneof(
    fc.record({ push: fc.string({ maxLength: 20 }) }),
    fc.record({ lines: fc.integer({ min: 1, max: 5 }), bytes: fc.integer({ min: 0, max: 60 }) }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new LineQueue({ lines: 7, bytes: 100 })
      const model: string[] = []
      for (const one of steps) {
        if ('push' in one) {
          const bytes = 2 * [...model, one.push].join('').length
          const fits = model.length < 7 && bytes <= 100
          expect(queue.push(one.push)).toBe(fits)
          if (fits) model.push(one.push)
        } else {
          const taken = queue.take(one)
          expect(taken).toEqual(model.splice(0, taken.length))
          expect(taken.length).toBeLessThanOrEqual(one.lines)
          if (taken.length > 1) expect(2 * taken.join('').length).toBeLessThanOrEqual(one.bytes)
          const next = model[0]
          const isFull = next === undefined || taken.length === one.lines
          const isLarge = 2 * [...taken, next ?? ''].join('').length > one.bytes
          expect(isFull || (isLarge && taken.length > 0)).toBe(true)
        }
        expect(queue.length).toBe(model.length)
      }
    }),
  )
})
