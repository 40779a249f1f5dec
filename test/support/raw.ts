import { connect } from 'node:net';

/** Sends raw bytes, for requests that no HTTP client would send, and reads until the peer has responded or closed. */
export function sendRaw(port: number, bytes: string | Buffer, patienceMs = 20_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    const timer = setTimeout(() => socket.destroy(), patienceMs);
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (isWhole(answer)) socket.end();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // An early refusal resets the connection while the rest is being sent; the response still counts.
      if (answer === '' && error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.write(bytes);
  });
}

function isWhole(answer: string): boolean {
  const end = answer.indexOf('\r\n\r\n');
  const length = /^content-length: (\d+)/im.exec(answer);
  return end >= 0 && length !== null && answer.length >= end + 4 + Number(length[1]);
}
