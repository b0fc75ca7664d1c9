import { get } from 'node:http'

/**
 * A watch without any processing, in a process of its own like the daemon. Prints `resourceVersion nanoseconds` for
 * every event, by a clock that all processes share. The first line reports that the watch is established.
 */
const [url = ''] = process.argv.slice(2)

get(url, (response) => {
  process.stdout.write('watching\n')
  response.on('data', (chunk: Buffer) => {
    const at = process.hrtime.bigint()
    for (const [, version = ''] of chunk.toString().matchAll(/"resourceVersion":"(\d+)"/g)) {
      process.stdout.write(`${version} ${at}\n`)
    }
  })
})
