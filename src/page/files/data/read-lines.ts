/**
 * The JSON objects of a stream that has one in each line, as many at a time as arrived together. An object is taken
 * for what the caller expects of the path that it requested.
 */
export async function* readLines<T>(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<readonly T[]> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    const objects = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T)
    if (objects.length > 0) yield objects
  }
  if (rest.trim() !== '') yield [JSON.parse(rest) as T]
}
