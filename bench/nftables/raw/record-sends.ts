import { openSync, writeSync } from 'node:fs'
import raw, { type RawNetlinkSocket } from 'netlink/dist/raw.js'
import { NFNL_SUBSYS } from '../../../src/kernel/netlink/nfnetlink.ts'
import { RECORD_FILE } from './recording.ts'

/**
 * Loaded before the daemon (`--import`). Appends the bytes of every transaction of nf_tables that the daemon sends,
 * each after its length, to the file that an environment variable names.
 */
const file = openSync(process.env[RECORD_FILE] ?? '', 'a')
const { prototype } = raw.RawNetlinkSocket
const send = Object.getOwnPropertyDescriptor(prototype, 'send')?.value as RawNetlinkSocket['send']

prototype.send = function record(this: RawNetlinkSocket, message, ...rest) {
  const bytes = Buffer.concat(Array.isArray(message) ? message : [message])
  if (beginsTransaction(bytes)) {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(bytes.length)
    writeSync(file, Buffer.concat([length, bytes]))
  }
  return send.call(this, message, ...rest)
}

/** NFNL_MSG_BATCH_BEGIN, whose `struct nfgenmsg` names the subsystem (linux/netfilter/nfnetlink.h). */
function beginsTransaction(bytes: Buffer): boolean {
  return bytes.readUInt16LE(4) === 0x10 && bytes.readUInt16BE(18) === NFNL_SUBSYS.nftables
}
