// Draws one triangle mesh as matt clay with WebGL2: a sky, a ground, and a lamp beside the viewer.

const FIELD_OF_VIEW = (35 * Math.PI) / 180;
const NEAR = 0.01;
const FAR = 100;

const VERTEX = `#version 300 es
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
uniform vec4 sphere;
uniform mat4 view;
uniform mat4 projection;
out vec3 seen;
out vec3 facing;
out vec3 upright;

// surfaces have z upwards and look along y; the screen has y upwards and looks along -z
vec3 stand(vec3 v) { return vec3(-v.x, v.z, v.y); }

void main() {
  upright = stand(normal);
  vec4 here = view * vec4(stand((position - sphere.xyz) / sphere.w), 1.0);
  seen = here.xyz;
  facing = mat3(view) * upright;
  gl_Position = projection * here;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec3 seen;
in vec3 facing;
in vec3 upright;
out vec4 colour;

const vec3 CLAY = vec3(0.584, 0.552, 0.491);
const vec3 SKY = vec3(0.38);
const vec3 GROUND = vec3(0.035, 0.035, 0.045);
const vec3 LAMP = normalize(vec3(-1.5, 2.0, 5.8));

void main() {
  vec3 toEye = normalize(-seen);
  vec3 n = normalize(facing);
  // both sides of a sheet are lit
  float side = dot(n, toEye) < 0.0 ? -1.0 : 1.0;
  n *= side;
  float above = 0.5 + 0.5 * side * normalize(upright).y;
  float gloss = pow(max(dot(n, normalize(LAMP + toEye)), 0.0), 14.0);
  vec3 light = mix(GROUND, SKY, above) + 0.7 * max(dot(n, LAMP), 0.0);
  vec3 linear = CLAY * light + 0.035 * gloss;
  vec3 srgb = mix(1.055 * pow(linear, vec3(1.0 / 2.4)) - 0.055, 12.92 * linear, vec3(lessThan(linear, vec3(0.0031308))));
  colour = vec4(srgb, 1.0);
}`;

export class MeshView {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    // a screenshot reads the drawing after it was shown
    this.gl = canvas.getContext('webgl2', { antialias: true, preserveDrawingBuffer: true });
    if (!this.gl) throw new Error('this browser has no WebGL 2');
    this.corners = new Uint32Array();
    this.floats = new Float32Array();
    this.sphere = [0, 0, 0, 1];
    this.#prepare();
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    canvas.addEventListener('webglcontextrestored', () => { this.#prepare(); this.#upload(true); });
  }

  /**
   * Take the points of a mesh.
   * @param {Float32Array} floats positions, then normals
   * @param {Uint32Array | null} corners of its triangles; null for those it had, which also keeps its size on the screen
   */
  setMesh(floats, corners) {
    this.floats = floats;
    if (corners) {
      this.corners = corners;
      this.sphere = boundingSphere(floats.subarray(0, floats.length / 2));
    }
    this.#upload(Boolean(corners));
  }

  /** @param {number} width @param {number} height in pixels of the screen */
  resize(width, height) {
    Object.assign(this.canvas, { width, height });
  }

  /**
   * @param {number[]} eye where the viewer stands, looking at the origin
   * @param {number[]} background red, green and blue from 0 to 1
   */
  draw(eye, background) {
    const { gl, canvas, program } = this;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(...background, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.useProgram(program);
    gl.uniform4fv(gl.getUniformLocation(program, 'sphere'), this.sphere);
    gl.uniformMatrix4fv(gl.getUniformLocation(program, 'view'), false, lookAtOrigin(eye));
    gl.uniformMatrix4fv(
      gl.getUniformLocation(program, 'projection'), false, perspective(canvas.width / Math.max(1, canvas.height)),
    );
    gl.bindVertexArray(this.mesh);
    gl.drawElements(gl.TRIANGLES, this.corners.length, gl.UNSIGNED_INT, 0);
  }

  #prepare() {
    const { gl } = this;
    this.program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(this.program, shader);
    }
    gl.linkProgram(this.program);
    if (!gl.getProgramParameter(this.program, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`the shaders of the 3-D view do not compile: ${gl.getProgramInfoLog(this.program)}`);
    }
    this.mesh = gl.createVertexArray();
    this.points = gl.createBuffer();
    this.triangles = gl.createBuffer();
  }

  #upload(isNew) {
    const { gl, floats } = this;
    gl.bindVertexArray(this.mesh);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.points);
    if (!isNew) {
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, floats);
      return;
    }
    gl.bufferData(gl.ARRAY_BUFFER, floats, gl.DYNAMIC_DRAW);
    for (const [attribute, offset] of [[0, 0], [1, floats.byteLength / 2]]) {
      gl.enableVertexAttribArray(attribute);
      gl.vertexAttribPointer(attribute, 3, gl.FLOAT, false, 0, offset);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.triangles);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, this.corners, gl.STATIC_DRAW);
  }
}

/**
 * The centre of the box around points, and the distance of the farthest from it.
 * @param {Float32Array} positions
 * @returns {number[]} x, y, z, radius
 */
export function boundingSphere(positions) {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (let index = 0; index < positions.length; index += 1) {
    const axis = index % 3;
    low[axis] = Math.min(low[axis], positions[index]);
    high[axis] = Math.max(high[axis], positions[index]);
  }
  const centre = low.map((least, axis) => (least + high[axis]) / 2);
  let radius = 0;
  for (let index = 0; index < positions.length; index += 3) {
    radius = Math.max(radius, Math.hypot(...centre.map((middle, axis) => positions[index + axis] - middle)));
  }
  return [...centre, radius || 1];
}

/** The matrix, column by column, of a viewer who looks at the origin with y upwards. @param {number[]} eye */
export function lookAtOrigin(eye) {
  const distance = Math.hypot(...eye);
  const [bx, by, bz] = eye.map((part) => part / distance);
  const flat = Math.hypot(bx, bz);
  const [rx, rz] = [bz / flat, -bx / flat];
  const [ux, uy, uz] = [by * rz, bz * rx - bx * rz, -by * rx];
  return [rx, ux, bx, 0, 0, uy, by, 0, rz, uz, bz, 0, 0, 0, -distance, 1];
}

/** @param {number} aspect width by height */
function perspective(aspect) {
  const zoom = 1 / Math.tan(FIELD_OF_VIEW / 2);
  const depth = 1 / (NEAR - FAR);
  return [zoom / aspect, 0, 0, 0, 0, zoom, 0, 0, 0, 0, (NEAR + FAR) * depth, -1, 0, 0, 2 * NEAR * FAR * depth, 0];
}
