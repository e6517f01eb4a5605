// Calls the downstream, for the queues that have no HTTP client of their own.
import { Agent, request } from 'node:http';

export function caller(url, slots, timeout) {
  const agent = new Agent({ keepAlive: true, maxSockets: slots });
  return (payload) =>
    new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(timeout);
      const call = request(url, { method: 'POST', agent, signal }, (response) => {
        response.resume();
        response.on('end', () => resolve(response));
        response.on('error', reject);
      });
      call.on('error', reject);
      call.end(JSON.stringify({ payload }));
    });
}
