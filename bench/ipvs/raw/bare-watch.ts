import { get } from 'node:http'

/**
 * A watch and nothing behind it, in a process of its own as the daemon is: prints
 * `resourceVersion nanoseconds` for every event, by the clock that all processes share.
 * The first line reports that the watch stands.
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
