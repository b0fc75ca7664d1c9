import { expect, test } from 'vitest'
import { readLines } from './connection.ts'

async function read(chunks: readonly Uint8Array[]): Promise<unknown[]> {
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  const found: unknown[] = []
  for await (const objects of readLines(stream)) found.push(...objects)
  return found
}

test('lines are objects, wherever the stream is cut: also inside of a letter', async () => {
  const bytes = new TextEncoder().encode('{"a":"ö€"}\n\n{"b":2}\n{"c":"no line end"}')
  for (let at = 0; at <= bytes.length; at++) {
    const objects = await read([bytes.subarray(0, at), bytes.subarray(at)])
    expect(objects).toEqual([{ a: 'ö€' }, { b: 2 }, { c: 'no line end' }])
  }
})

test('objects that arrive together are given together', async () => {
  const stream = new Blob(['{"a":1}\n{"a":2}\n']).stream()
  const batches: unknown[] = []
  for await (const objects of readLines(stream)) batches.push(objects)
  expect(batches).toEqual([[{ a: 1 }, { a: 2 }]])
})

test('what is no JSON throws', async () => {
  await expect(read([new TextEncoder().encode('{"a":\n')])).rejects.toThrow(SyntaxError)
})
