"""FlowWeb (Zhou, Lee, Yu, Efros, CVPR 2015): flows among many images, made to agree in cycles."""
